-- What the index of a large owner is made of, written down by the index itself so that the next one
-- need not read every record: derived, checked when it is read (index/packed.py), and removed with
-- the first row that is. Piece 0 says what the others hold; the epoch of that piece is the one it
-- is good for.
CREATE TABLE kept_index (
    owner  INTEGER NOT NULL REFERENCES owners,
    piece  INTEGER NOT NULL,
    epoch  INTEGER NOT NULL,
    change INTEGER NOT NULL,
    data   BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX kept_index_piece ON kept_index (owner, piece);
