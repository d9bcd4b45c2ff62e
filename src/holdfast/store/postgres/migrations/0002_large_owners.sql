-- Of owners who are too large to be held in memory: by what their documents are found, so that a
-- search can be put to a few of them. Kept up to date by workers, behind `records` and `vectors`;
-- what was written since is in nobody's way: searches load it. The table `nearest` (vectors, by
-- pgvector) is made by the program where that extension is.
CREATE TABLE candidates (
    owner   BIGINT NOT NULL,
    record  BYTEA NOT NULL,
    tier    TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    agent   TEXT COLLATE "C",
    session TEXT COLLATE "C" NOT NULL,  -- '': none
    role    TEXT COLLATE "C",
    name    TEXT COLLATE "C",
    at      BIGINT NOT NULL,
    arrival BIGINT NOT NULL,
    length  INTEGER NOT NULL,
    terms   BIGINT[] NOT NULL,
    PRIMARY KEY (owner, record)
);
CREATE INDEX candidates_session ON candidates (owner, session, arrival);
CREATE INDEX candidates_at ON candidates (owner, at);
CREATE INDEX candidates_tier ON candidates (owner, tier, kind) WHERE tier != 'session';

-- How many documents, documents of people, windows of turns and sessions hold a term.
CREATE TABLE frequencies (
    owner     BIGINT NOT NULL,
    term      BIGINT NOT NULL,
    documents INTEGER NOT NULL,
    people    INTEGER NOT NULL,
    windows   INTEGER NOT NULL,
    sessions  INTEGER NOT NULL,
    PRIMARY KEY (owner, term)
) WITH (fillfactor = 70);

-- How far each of them is indexed, and what there is of it: documents and their words in all.
CREATE TABLE large_owners (
    owner         BIGINT PRIMARY KEY,
    space         INTEGER NOT NULL,
    change        BIGINT NOT NULL DEFAULT 0,
    vector_change BIGINT NOT NULL DEFAULT 0,
    is_ready      BOOLEAN NOT NULL DEFAULT FALSE,
    documents     BIGINT NOT NULL DEFAULT 0,
    words         DOUBLE PRECISION NOT NULL DEFAULT 0,
    people        BIGINT NOT NULL DEFAULT 0,
    people_words  DOUBLE PRECISION NOT NULL DEFAULT 0,
    window_words  DOUBLE PRECISION NOT NULL DEFAULT 0,
    sessions      BIGINT NOT NULL DEFAULT 0,
    session_words DOUBLE PRECISION NOT NULL DEFAULT 0
);

GRANT SELECT, INSERT, UPDATE, DELETE ON candidates, frequencies, large_owners
    TO holdfast_serve, holdfast_work;
GRANT SELECT ON candidates, frequencies, large_owners TO holdfast_read;
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['candidates', 'frequencies', 'large_owners']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON %I TO holdfast_serve, holdfast_read'
            ' USING (owner = current_owner())', name);
        EXECUTE format('CREATE POLICY all_owners ON %I TO holdfast_work USING (true)', name);
    END LOOP;
END $$;

-- The documents that hold all terms of a group, for each group, at most so many. A function, since
-- row security keeps an index of arrays from being used; it answers for `current_owner` alone.
CREATE FUNCTION holders(groups text[], most integer)
    RETURNS TABLE (place integer, record bytea, session text, arrival bigint, length integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = holdfast AS $$
BEGIN
    FOR place IN 1 .. coalesce(array_length(groups, 1), 0) LOOP
        RETURN QUERY EXECUTE format(
            'SELECT %s, c.record, c.session, c.arrival, c.length FROM candidates c'
            ' WHERE c.owner = %s AND c.terms @> %L::bigint[] LIMIT %s',
            place, coalesce(current_owner(), 0), groups[place], most);
    END LOOP;
END $$;

-- An index of the terms of one owner's documents; only who owns the tables could make it otherwise.
CREATE FUNCTION index_terms(whose bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = holdfast AS $$
BEGIN
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON candidates USING gin (terms)'
        ' WITH (fastupdate = off) WHERE owner = %s', 'candidates_of_' || whose, whose);
    ANALYZE candidates;
END $$;

-- What a record is found by goes with it; all records: NULL. The row of an owner stays until the
-- tables were made anew (store/postgres/large.py).
CREATE FUNCTION unname(whose bigint, gone bytea) RETURNS void
    LANGUAGE plpgsql SET search_path = holdfast AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM large_owners WHERE owner = whose) THEN
        RETURN;
    END IF;
    IF to_regclass('holdfast.nearest') IS NOT NULL THEN
        EXECUTE 'DELETE FROM nearest WHERE owner = $1 AND (record = $2 OR $2 IS NULL)'
            USING whose, gone;
    END IF;
    IF gone IS NULL THEN
        DELETE FROM candidates WHERE owner = whose;
        DELETE FROM frequencies WHERE owner = whose;
        UPDATE large_owners SET is_ready = FALSE, space = 0 WHERE owner = whose;
    ELSE
        UPDATE frequencies SET documents = documents - 1 WHERE owner = whose AND term IN
            (SELECT unnest(terms) FROM candidates WHERE owner = whose AND record = gone);
        DELETE FROM frequencies WHERE owner = whose AND documents <= 0;
        DELETE FROM candidates WHERE owner = whose AND record = gone;
    END IF;
END $$;

REVOKE ALL ON FUNCTION holders, index_terms FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holders TO holdfast_serve, holdfast_work, holdfast_read;
GRANT EXECUTE ON FUNCTION index_terms TO holdfast_work;
