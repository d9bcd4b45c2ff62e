-- The tables of store/sqlite/migrations as they are by 0008, for PostgreSQL 15 or newer. `owner` leads
-- every key of user data, and no constraint reaches over owners, so that each table can be spread over
-- machines by its owner; the others are small. Numbers of owners and jobs are made by the program:
-- there is no sequence. Texts are compared byte by byte, as SQLite does.

-- What SQLite has and PostgreSQL has not, or calls otherwise.
CREATE FUNCTION iif(boolean, anycompatible, anycompatible) RETURNS anycompatible
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT CASE WHEN $1 THEN $2 ELSE $3 END';
CREATE FUNCTION hex(bytea) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT encode($1, ''hex'')';
CREATE FUNCTION max(bigint, bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT CASE WHEN $1 >= $2 THEN $1 WHEN $2 > $1 THEN $2 END';
CREATE FUNCTION max(double precision, double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT CASE WHEN $1 >= $2 THEN $1 WHEN $2 > $1 THEN $2 END';
CREATE FUNCTION min(bigint, bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT CASE WHEN $1 <= $2 THEN $1 WHEN $2 < $1 THEN $2 END';
CREATE FUNCTION json_valid(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS
'BEGIN PERFORM $1::json; RETURN true; EXCEPTION WHEN others THEN RETURN false; END';
-- Paths are $.name or $.name.name.
CREATE FUNCTION json_extract(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS
'BEGIN RETURN $1::json #>> string_to_array(substr($2, 3), ''.''); EXCEPTION WHEN others THEN RETURN NULL; END';
CREATE FUNCTION json_type(text, text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT CASE json_typeof(found) WHEN ''boolean'' THEN found::text WHEN ''string'' THEN ''text''
    ELSE json_typeof(found) END FROM (SELECT $1::json #> string_to_array(substr($2, 3), ''.'')) AS _ (found)';

-- Whose rows this transaction may see; see `narrow` in store/postgres/connection.py.
CREATE FUNCTION current_owner() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
'SELECT nullif(current_setting(''holdfast.owner'', true), '''')::bigint';

CREATE TABLE owners (
    owner     BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    "user"    TEXT COLLATE "C" NOT NULL,
    arrival   BIGINT NOT NULL DEFAULT 0,
    change    BIGINT NOT NULL DEFAULT 0,
    epoch     BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX owners_name ON owners (workspace, "user");
CREATE INDEX owners_unknown ON owners (owner) WHERE change = 0;

CREATE TABLE events (
    owner    BIGINT NOT NULL,
    id       BYTEA NOT NULL CHECK (length(id) = 16),
    arrival  BIGINT NOT NULL,
    role     TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C",
    agent    TEXT COLLATE "C",
    session  TEXT COLLATE "C",
    content  TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,
    known_at BIGINT NOT NULL,
    origin   TEXT COLLATE "C" NOT NULL,
    metadata TEXT COLLATE "C",
    PRIMARY KEY (owner, id)
);
CREATE UNIQUE INDEX events_arrival ON events (owner, arrival);

CREATE TABLE records (
    owner        BIGINT NOT NULL,
    id           BYTEA NOT NULL CHECK (length(id) = 16),
    change       BIGINT NOT NULL,
    tier         TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    valid_from   BIGINT NOT NULL,
    valid_to     BIGINT,
    known_from   BIGINT NOT NULL,
    known_to     BIGINT,
    confidence   DOUBLE PRECISION NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    origin       TEXT COLLATE "C" NOT NULL,
    forgotten_at BIGINT,
    length       INTEGER NOT NULL,
    terms        BYTEA NOT NULL,
    content      TEXT COLLATE "C",
    data         TEXT COLLATE "C",
    importance   DOUBLE PRECISION NOT NULL DEFAULT 0.5 CHECK (importance BETWEEN 0 AND 1),
    sources      BYTEA,
    agent        TEXT COLLATE "C",
    session      TEXT COLLATE "C",
    name         TEXT COLLATE "C",
    role         TEXT COLLATE "C",
    arrival      BIGINT,
    said_from    BIGINT,
    along        SMALLINT NOT NULL DEFAULT 0,
    seen         BIGINT,
    quiet        SMALLINT NOT NULL DEFAULT 0 CHECK (quiet BETWEEN 0 AND 2),
    archived     BIGINT,
    strength     DOUBLE PRECISION CHECK (strength BETWEEN 0 AND 1),
    uses         INTEGER NOT NULL DEFAULT 0 CHECK (uses >= 0),
    used         INTEGER,
    visibility   TEXT COLLATE "C",
    metadata     TEXT COLLATE "C",
    written      SMALLINT NOT NULL DEFAULT 0,
    claim        TEXT COLLATE "C",
    stored       BIGINT,
    event        BYTEA GENERATED ALWAYS AS (coalesce(substr(sources, 1, 16), id)) STORED,
    PRIMARY KEY (owner, id)
);
CREATE INDEX records_change ON records (owner, change);
CREATE INDEX records_known ON records (owner, known_from, id);
CREATE INDEX records_forgotten ON records (owner, forgotten_at) WHERE forgotten_at IS NOT NULL;
CREATE INDEX derived_tier ON records (owner, tier, known_from) WHERE tier != 'session';
CREATE INDEX records_other ON records (owner, change) WHERE
    tier != 'session' OR valid_to IS NOT NULL OR known_to IS NOT NULL OR confidence != 1.0
    OR seen IS NOT NULL OR archived IS NOT NULL;
CREATE INDEX records_claim ON records (owner, claim, known_to) WHERE claim IS NOT NULL;

CREATE TABLE provenance (
    owner  BIGINT NOT NULL,
    event  BYTEA NOT NULL,
    record BYTEA NOT NULL,
    PRIMARY KEY (owner, event, record)
);

CREATE TABLE journal (
    owner  BIGINT NOT NULL,
    record BYTEA NOT NULL,
    change BIGINT NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    at     BIGINT NOT NULL,
    note   TEXT COLLATE "C",
    PRIMARY KEY (owner, record, change)
);
CREATE INDEX journal_change ON journal (owner, change);

CREATE TABLE idempotency (
    owner   BIGINT NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    body    BYTEA NOT NULL,
    events  BYTEA NOT NULL,
    used_at BIGINT NOT NULL,
    PRIMARY KEY (owner, key)
);

CREATE TABLE answers (
    owner  BIGINT NOT NULL,
    key    TEXT COLLATE "C" NOT NULL,
    body   BYTEA NOT NULL,
    status INTEGER NOT NULL,
    answer BYTEA NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (owner, key)
);

CREATE TABLE jobs (
    owner       BIGINT NOT NULL,
    id          BIGINT NOT NULL,        -- microseconds of its making; other owners may have the same
    subject     BYTEA NOT NULL,
    step        TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'running', 'dead')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    due         BIGINT NOT NULL,
    lease_until BIGINT,
    error       TEXT COLLATE "C",
    transient   SMALLINT NOT NULL DEFAULT 0,
    session     TEXT COLLATE "C",
    agent       TEXT COLLATE "C",
    at          BIGINT,
    claim       BIGINT,
    alone       SMALLINT NOT NULL DEFAULT 0 CHECK (alone IN (0, 1)),
    deaths      INTEGER NOT NULL DEFAULT 0 CHECK (deaths >= 0),
    PRIMARY KEY (owner, id)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX jobs_subject ON jobs (owner, subject, step);
CREATE INDEX jobs_id ON jobs (id);
CREATE INDEX jobs_due ON jobs (step, due, owner, id) WHERE state = 'ready';
CREATE INDEX jobs_turn ON jobs (step, owner, due, id) WHERE state = 'ready';
CREATE INDEX jobs_group ON jobs (step, owner, session, agent, at, id, due)
    WHERE state = 'ready' AND at IS NOT NULL;
CREATE INDEX jobs_again ON jobs (step, owner, due) WHERE state = 'ready' AND attempts > 0;
CREATE INDEX jobs_alone ON jobs (step, deaths, id) WHERE state = 'ready' AND alone = 1;
CREATE INDEX jobs_lease ON jobs (step, lease_until) WHERE state = 'running';

CREATE TABLE vectors (
    owner   BIGINT NOT NULL,
    space   INTEGER NOT NULL,
    record  BYTEA NOT NULL,
    passage INTEGER NOT NULL,
    change  BIGINT NOT NULL,
    digest  BYTEA NOT NULL,
    data    BYTEA NOT NULL,
    PRIMARY KEY (owner, space, record, passage)
);
ALTER TABLE vectors ALTER COLUMN data SET STORAGE PLAIN;  -- numbers do not shrink
CREATE INDEX vectors_change ON vectors (owner, space, change);
CREATE INDEX vectors_digest ON vectors (owner, space, digest);

CREATE TABLE contexts (
    owner  BIGINT NOT NULL,
    id     BYTEA NOT NULL CHECK (length(id) = 16),
    at     BIGINT NOT NULL,
    change BIGINT NOT NULL,
    query  TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (owner, id)
);
CREATE INDEX contexts_at ON contexts (owner, at);
CREATE INDEX contexts_end ON contexts (owner, substr(id, 14, 3));

CREATE TABLE spend (
    owner         BIGINT NOT NULL,
    day           TEXT COLLATE "C" NOT NULL,
    calls         BIGINT NOT NULL CHECK (calls >= 0),
    prompt_tokens BIGINT NOT NULL CHECK (prompt_tokens >= 0),
    answer_tokens BIGINT NOT NULL CHECK (answer_tokens >= 0),
    cost          DOUBLE PRECISION NOT NULL CHECK (cost >= 0 AND cost < 'infinity'),
    PRIMARY KEY (owner, day)
);

CREATE TABLE shares (
    owner      BIGINT NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    receiver   TEXT COLLATE "C" NOT NULL,
    segments   TEXT COLLATE "C" NOT NULL,
    permission TEXT COLLATE "C" NOT NULL CHECK (permission IN ('read', 'write', 'admin')),
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    PRIMARY KEY (owner, id)
);
CREATE INDEX shares_receiver ON shares (receiver, created_at);

CREATE TABLE webhook_heads (
    owner   BIGINT NOT NULL,
    webhook TEXT COLLATE "C" NOT NULL,
    epoch   BIGINT NOT NULL,
    change  BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (owner, webhook)
);
CREATE INDEX webhook_heads_webhook ON webhook_heads (webhook);

-- One row for each transaction that wrote, for an hour: whoever lost the connection while it was
-- committed writes the same one, and is told by whether that is new.
CREATE TABLE commits (
    owner BIGINT NOT NULL,              -- 0: of no single owner
    token BYTEA NOT NULL,
    at    BIGINT NOT NULL,
    PRIMARY KEY (owner, token)
);
CREATE INDEX commits_at ON commits (at);

CREATE TABLE set_aside (
    owner  BIGINT,
    id     BIGINT NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    row    TEXT COLLATE "C" NOT NULL
);
CREATE INDEX set_aside_owner ON set_aside (owner);

-- Small, and of nobody.
CREATE TABLE spaces (
    id     INTEGER PRIMARY KEY,
    model  TEXT COLLATE "C" NOT NULL,
    dim    INTEGER NOT NULL,
    recipe INTEGER NOT NULL,
    state  TEXT COLLATE "C" NOT NULL CHECK (state IN ('building', 'active', 'retired')),
    UNIQUE (model, dim, recipe)
);
CREATE TABLE recipes (name TEXT COLLATE "C" PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE chores (name TEXT COLLATE "C" PRIMARY KEY, at BIGINT NOT NULL);
CREATE TABLE secrets (name TEXT COLLATE "C" PRIMARY KEY, value BYTEA NOT NULL);
CREATE TABLE counters (name TEXT COLLATE "C" PRIMARY KEY, value BIGINT NOT NULL);
CREATE TABLE agents (
    workspace TEXT COLLATE "C" NOT NULL,
    agent     TEXT COLLATE "C" NOT NULL,
    trust     DOUBLE PRECISION NOT NULL CHECK (trust BETWEEN 0 AND 1),
    at        BIGINT NOT NULL,
    PRIMARY KEY (workspace, agent)
);
CREATE TABLE api_keys (
    id         TEXT COLLATE "C" PRIMARY KEY,
    digest     BYTEA NOT NULL UNIQUE,
    workspace  TEXT COLLATE "C" NOT NULL,
    "user"     TEXT COLLATE "C",
    role       TEXT COLLATE "C" NOT NULL CHECK (role IN ('read', 'write', 'admin')),
    label      TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    tools      TEXT COLLATE "C"
);
CREATE TABLE webhooks (
    id          TEXT COLLATE "C" PRIMARY KEY,
    workspace   TEXT COLLATE "C" NOT NULL,
    "user"      TEXT COLLATE "C",
    url         TEXT COLLATE "C" NOT NULL,
    events      TEXT COLLATE "C" NOT NULL,
    secret      BYTEA NOT NULL,
    created_at  BIGINT NOT NULL,
    failures    INTEGER NOT NULL DEFAULT 0,
    failing     BIGINT,
    due         BIGINT NOT NULL DEFAULT 0,
    error       TEXT COLLATE "C",
    disabled_at BIGINT
);
CREATE TABLE audit (
    workspace TEXT COLLATE "C" NOT NULL,
    seq       BIGINT NOT NULL,          -- of its workspace
    at        BIGINT NOT NULL,
    owner     TEXT COLLATE "C",
    actor     TEXT COLLATE "C" NOT NULL,
    action    TEXT COLLATE "C" NOT NULL,
    subject   TEXT COLLATE "C",
    outcome   TEXT COLLATE "C" NOT NULL,
    hash      BYTEA NOT NULL,
    PRIMARY KEY (workspace, seq)
);

-- Roles. None of them can log in; whoever does is a member of some.
-- holdfast_serve and holdfast_read: the rows of `current_owner`; holdfast_work: those of all owners.
GRANT USAGE ON SCHEMA holdfast TO holdfast_serve, holdfast_work, holdfast_read;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO holdfast_serve, holdfast_work;
GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO holdfast_read;
REVOKE UPDATE, DELETE ON audit FROM holdfast_serve, holdfast_work;  -- only ever added to
REVOKE ALL ON secrets, api_keys, webhooks, audit, counters FROM holdfast_read;
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT DISTINCT table_name FROM information_schema.columns
        WHERE table_schema = 'holdfast' AND column_name = 'owner' AND table_name != 'audit'
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON %I TO holdfast_serve, holdfast_read'
            ' USING (owner = current_owner())', name);
        EXECUTE format('CREATE POLICY all_owners ON %I TO holdfast_work USING (true)', name);
    END LOOP;
END $$;
