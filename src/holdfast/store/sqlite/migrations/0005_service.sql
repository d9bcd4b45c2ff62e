-- Keys that open only some tools of the MCP server.
ALTER TABLE api_keys ADD COLUMN tools TEXT;  -- JSON: a list of names; NULL: all of them

-- What was done through the service, by whom: each line holds the hash of the one before.
CREATE TABLE audit (
    seq       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    owner     TEXT,                     -- a digest of the user under the store's secret
    actor     TEXT NOT NULL,            -- the id of the key, or what acted without one
    action    TEXT NOT NULL,
    subject   TEXT,                     -- an id
    outcome   TEXT NOT NULL,            -- done, refused
    hash      BLOB NOT NULL
) STRICT;
CREATE INDEX audit_workspace ON audit (workspace, seq);

-- Who is told of changes over HTTP, and how far each owner's feed was told.
CREATE TABLE webhooks (
    id          TEXT PRIMARY KEY,
    workspace   TEXT NOT NULL,
    user        TEXT,                   -- NULL: every user of the workspace
    url         TEXT NOT NULL,
    events      TEXT NOT NULL,          -- JSON: a list of names; [] is all
    secret      BLOB NOT NULL,          -- what signs the deliveries
    created_at  INTEGER NOT NULL,
    failures    INTEGER NOT NULL DEFAULT 0,
    failing     INTEGER,                -- since when nothing gets through
    due         INTEGER NOT NULL DEFAULT 0,
    error       TEXT,
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE webhook_heads (
    webhook TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    owner   INTEGER NOT NULL REFERENCES owners,
    epoch   INTEGER NOT NULL,
    change  INTEGER NOT NULL,
    at      INTEGER NOT NULL,           -- what was learned later was not told yet
    PRIMARY KEY (webhook, owner)
) STRICT, WITHOUT ROWID;
-- What happened, in order.
CREATE INDEX journal_change ON journal (owner, change);

-- Answers to requests that carried an idempotency key, for the routes that store no event.
CREATE TABLE answers (
    owner  INTEGER NOT NULL REFERENCES owners,
    key    TEXT NOT NULL,
    body   BLOB NOT NULL,               -- a digest of what was asked
    status INTEGER NOT NULL,
    answer BLOB NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

-- Memories page by page, newest first: a place in this order is never left.
CREATE INDEX records_known ON records (owner, known_from, id);
