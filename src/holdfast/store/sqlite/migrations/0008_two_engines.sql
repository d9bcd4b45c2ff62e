-- The event of a turn, or the first source of a derived record. A column of its own, since PostgreSQL
-- cannot use an index for what a function gives while it keeps rows of others out of sight.
ALTER TABLE records ADD COLUMN event BLOB
    GENERATED ALWAYS AS (coalesce(substr(sources, 1, 16), id)) VIRTUAL;
-- The order in which records were stored, which SQLite alone tells by its rowid.
ALTER TABLE records ADD COLUMN stored INTEGER;
UPDATE records SET stored = rowid WHERE claim IS NOT NULL;
-- The end of an id in words that both engines have.
DROP INDEX contexts_end;
CREATE INDEX contexts_end ON contexts (owner, substr(id, 14, 3));
-- Owners of whom nothing was ever stored.
CREATE INDEX owners_unknown ON owners (owner) WHERE change = 0;
-- Damaged rows, as they were. Older versions made the table when they first needed it.
CREATE TABLE IF NOT EXISTS set_aside (
    id     INTEGER PRIMARY KEY,
    owner  INTEGER,                     -- whose it was, to be erased with them; NULL: nobody's
    source TEXT NOT NULL,               -- the table
    reason TEXT NOT NULL,
    row    TEXT NOT NULL                -- JSON by column; bytes, and texts that are none, as {"base64": ...}
) STRICT;
