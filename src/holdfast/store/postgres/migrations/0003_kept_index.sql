-- See store/sqlite/migrations/0009_kept_index.sql.
CREATE TABLE kept_index (
    owner  BIGINT NOT NULL,
    piece  INTEGER NOT NULL,
    epoch  BIGINT NOT NULL,
    change BIGINT NOT NULL,
    data   BYTEA NOT NULL,
    PRIMARY KEY (owner, piece)
);
ALTER TABLE kept_index ALTER COLUMN data SET STORAGE EXTERNAL;  -- packed already
GRANT SELECT, INSERT, UPDATE, DELETE ON kept_index TO holdfast_serve, holdfast_work;
GRANT SELECT ON kept_index TO holdfast_read;
ALTER TABLE kept_index ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON kept_index TO holdfast_serve, holdfast_read USING (owner = current_owner());
CREATE POLICY all_owners ON kept_index TO holdfast_work USING (true);
