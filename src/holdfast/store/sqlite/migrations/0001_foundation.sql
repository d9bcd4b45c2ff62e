-- Owners: one row per (workspace, user). `owner` leads every key and index below.
CREATE TABLE owners (
    owner     INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    user      TEXT NOT NULL,
    arrival   INTEGER NOT NULL DEFAULT 0,  -- last arrival number given
    change    INTEGER NOT NULL DEFAULT 0,  -- last change number given
    epoch     INTEGER NOT NULL DEFAULT 0,  -- grows when rows are physically removed
    UNIQUE (workspace, user)
) STRICT;

-- Events: what was said, raw. Never updated. Times are microseconds since 1970, UTC.
CREATE TABLE events (
    owner    INTEGER NOT NULL REFERENCES owners,
    id       BLOB NOT NULL CHECK (length(id) = 16),
    arrival  INTEGER NOT NULL,
    role     TEXT NOT NULL,
    name     TEXT,
    agent    TEXT,
    session  TEXT,
    content  TEXT NOT NULL,
    at       INTEGER NOT NULL,
    known_at INTEGER NOT NULL,
    origin   TEXT NOT NULL,
    metadata TEXT
) STRICT;
CREATE UNIQUE INDEX events_id ON events (owner, id);
CREATE UNIQUE INDEX events_arrival ON events (owner, arrival);

-- Records: the memories. A session record has the id of its event and takes its content from there.
CREATE TABLE records (
    owner        INTEGER NOT NULL REFERENCES owners,
    id           BLOB NOT NULL CHECK (length(id) = 16),
    change       INTEGER NOT NULL,
    tier         TEXT NOT NULL,
    kind         TEXT NOT NULL,
    valid_from   INTEGER NOT NULL,
    valid_to     INTEGER,
    known_from   INTEGER NOT NULL,
    known_to     INTEGER,
    confidence   REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    origin       TEXT NOT NULL,
    forgotten_at INTEGER,
    length       INTEGER NOT NULL,          -- terms with repeats
    terms        BLOB NOT NULL              -- derived: 8 bytes of term id and 1 of count, each
) STRICT;
CREATE UNIQUE INDEX records_id ON records (owner, id);
CREATE INDEX records_change ON records (owner, change);

-- Journal: what was done to a record after it was stored. Never updated.
CREATE TABLE journal (
    owner  INTEGER NOT NULL REFERENCES owners,
    record BLOB NOT NULL,
    change INTEGER NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('forgotten', 'restored')),
    at     INTEGER NOT NULL,
    PRIMARY KEY (owner, record, change)
) STRICT, WITHOUT ROWID;

-- Idempotency keys: the body's digest and the events of the first use.
CREATE TABLE idempotency (
    owner   INTEGER NOT NULL REFERENCES owners,
    key     TEXT NOT NULL,
    body    BLOB NOT NULL,
    events  BLOB NOT NULL,                  -- ids one after another, 16 bytes each
    used_at INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

-- Jobs: what remains to be done. A finished job is a deleted row.
CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    owner       INTEGER NOT NULL REFERENCES owners,
    subject     BLOB NOT NULL,
    step        TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'running', 'dead')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    due         INTEGER NOT NULL,
    lease_until INTEGER,
    error       TEXT,
    transient   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX jobs_subject ON jobs (owner, subject, step);
CREATE INDEX jobs_due ON jobs (state, due, owner, id);

-- Vector spaces: a model, its dimension and the recipe that cuts text into passages.
CREATE TABLE spaces (
    id     INTEGER PRIMARY KEY,
    model  TEXT NOT NULL,
    dim    INTEGER NOT NULL,
    recipe INTEGER NOT NULL,
    state  TEXT NOT NULL CHECK (state IN ('building', 'active', 'retired')),
    UNIQUE (model, dim, recipe)
) STRICT;

CREATE TABLE vectors (
    owner   INTEGER NOT NULL REFERENCES owners,
    space   INTEGER NOT NULL REFERENCES spaces,
    record  BLOB NOT NULL,
    passage INTEGER NOT NULL,
    change  INTEGER NOT NULL,
    digest  BLOB NOT NULL,
    data    BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vectors_record ON vectors (owner, space, record, passage);
CREATE INDEX vectors_change ON vectors (owner, space, change);
CREATE INDEX vectors_digest ON vectors (owner, space, digest);

-- What derived columns were made with: ('terms', version of the recipe).
CREATE TABLE recipes (
    name    TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- API keys of the service. Only the SHA-256 of the secret is kept.
CREATE TABLE api_keys (
    id         TEXT PRIMARY KEY,
    digest     BLOB NOT NULL UNIQUE,
    workspace  TEXT NOT NULL,
    user       TEXT,
    role       TEXT NOT NULL CHECK (role IN ('read', 'write', 'admin')),
    label      TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
