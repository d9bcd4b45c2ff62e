-- The life of a record: how loud it is, how present, whether it was put aside, who may see it.
ALTER TABLE records ADD COLUMN quiet INTEGER NOT NULL DEFAULT 0 CHECK (quiet BETWEEN 0 AND 2);
ALTER TABLE records ADD COLUMN archived INTEGER;  -- since when; NULL: it is not
ALTER TABLE records ADD COLUMN strength REAL CHECK (strength BETWEEN 0 AND 1);  -- at `seen`
ALTER TABLE records ADD COLUMN uses INTEGER NOT NULL DEFAULT 0 CHECK (uses >= 0);
ALTER TABLE records ADD COLUMN used INTEGER;      -- day of the last use that counted, from 1970
ALTER TABLE records ADD COLUMN visibility TEXT;
ALTER TABLE records ADD COLUMN metadata TEXT;     -- the caller's own; else that of the first source
-- 1: stored without any turn, so it stands without one, whatever it was heard in since.
ALTER TABLE records ADD COLUMN written INTEGER NOT NULL DEFAULT 0;
UPDATE records SET written = 1 WHERE tier != 'session' AND coalesce(length(sources), 0) = 0;
-- Turns that were used or put aside are loaded beside the many that were not.
DROP INDEX records_other;
CREATE INDEX records_other ON records (owner, change) WHERE
    tier != 'session' OR valid_to IS NOT NULL OR known_to IS NOT NULL OR confidence != 1.0
    OR seen IS NOT NULL OR archived IS NOT NULL;

-- Journal: the same table with a reason. Which actions there are is no matter of the file.
CREATE TABLE journal_2 (
    owner  INTEGER NOT NULL REFERENCES owners,
    record BLOB NOT NULL,
    change INTEGER NOT NULL,
    action TEXT NOT NULL,
    at     INTEGER NOT NULL,
    note   TEXT,
    PRIMARY KEY (owner, record, change)
) STRICT, WITHOUT ROWID;
INSERT INTO journal_2 SELECT owner, record, change, action, at, NULL FROM journal;
DROP TABLE journal;
ALTER TABLE journal_2 RENAME TO journal;

-- Shares: what an owner lets another workspace see.
CREATE TABLE shares (
    owner      INTEGER NOT NULL REFERENCES owners,
    id         TEXT NOT NULL,
    receiver   TEXT NOT NULL,               -- a workspace
    segments   TEXT NOT NULL,               -- JSON: a list of names
    permission TEXT NOT NULL CHECK (permission IN ('read', 'write', 'admin')),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_receiver ON shares (receiver, created_at);

-- How much the agents of a workspace are trusted.
CREATE TABLE agents (
    workspace TEXT NOT NULL,
    agent     TEXT NOT NULL,
    trust     REAL NOT NULL CHECK (trust BETWEEN 0 AND 1),
    at        INTEGER NOT NULL,
    PRIMARY KEY (workspace, agent)
) STRICT, WITHOUT ROWID;

-- What is done from time to time, and when it was last begun.
CREATE TABLE chores (
    name TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Random bytes that never leave the store.
CREATE TABLE secrets (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Numbers of the whole store: ('epoch', the least that an owner who is new may begin with).
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
