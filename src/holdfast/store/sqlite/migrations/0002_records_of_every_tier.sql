-- Records of every tier. A session record has NULL in these: it takes them from its event.
ALTER TABLE records ADD COLUMN content TEXT;
ALTER TABLE records ADD COLUMN data TEXT;         -- JSON: what the system knows of it
ALTER TABLE records ADD COLUMN importance REAL NOT NULL DEFAULT 0.5
    CHECK (importance BETWEEN 0 AND 1);
ALTER TABLE records ADD COLUMN sources BLOB;      -- event ids one after another, most relevant first
ALTER TABLE records ADD COLUMN agent TEXT;
ALTER TABLE records ADD COLUMN session TEXT;
ALTER TABLE records ADD COLUMN name TEXT;
ALTER TABLE records ADD COLUMN role TEXT;
ALTER TABLE records ADD COLUMN arrival INTEGER;   -- of its first source: a stable order for ties
ALTER TABLE records ADD COLUMN said_from INTEGER; -- when we learned its present text, if not first
-- 1: hidden because every source is forgotten; it comes back with the first of them.
ALTER TABLE records ADD COLUMN along INTEGER NOT NULL DEFAULT 0;
CREATE INDEX derived_tier ON records (owner, tier, known_from) WHERE tier != 'session';
-- All but turns that still hold: an index loads those by the hundred thousand, these beside them.
CREATE INDEX records_other ON records (owner, change) WHERE
    tier != 'session' OR valid_to IS NOT NULL OR known_to IS NOT NULL OR confidence != 1.0;

-- Provenance: which records were derived from an event. The way back is `sources`.
CREATE TABLE provenance (
    owner  INTEGER NOT NULL REFERENCES owners,
    event  BLOB NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (owner, event, record)
) STRICT, WITHOUT ROWID;

-- Journal: the same table with more actions; a CHECK cannot be altered.
CREATE TABLE journal_2 (
    owner  INTEGER NOT NULL REFERENCES owners,
    record BLOB NOT NULL,
    change INTEGER NOT NULL,
    action TEXT NOT NULL CHECK (
        action IN ('forgotten', 'restored', 'superseded', 'changed', 'confirmed')
    ),
    at     INTEGER NOT NULL,
    PRIMARY KEY (owner, record, change)
) STRICT, WITHOUT ROWID;
INSERT INTO journal_2 SELECT owner, record, change, action, at FROM journal;
DROP TABLE journal;
ALTER TABLE journal_2 RENAME TO journal;

-- Contexts: what was handed to a model, so that it can be told later why.
CREATE TABLE contexts (
    owner  INTEGER NOT NULL REFERENCES owners,
    id     BLOB NOT NULL CHECK (length(id) = 16),
    at     INTEGER NOT NULL,
    change INTEGER NOT NULL,                -- the owner's last change number then
    query  TEXT NOT NULL,
    digest BLOB NOT NULL,
    body   BLOB NOT NULL                    -- opaque: the caller's compressed JSON
) STRICT;
CREATE UNIQUE INDEX contexts_id ON contexts (owner, id);
CREATE INDEX contexts_at ON contexts (owner, at);
CREATE INDEX contexts_end ON contexts (owner, substr(id, -3));
