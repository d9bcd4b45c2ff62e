-- When a record was last seen or told again (known time); NULL: not since `known_from`.
ALTER TABLE records ADD COLUMN seen INTEGER;

-- A step that belongs to no vector space is done for the turns of one conversation together. Its
-- jobs say which conversation and when the turn was said; in all other jobs `at` is NULL.
ALTER TABLE jobs ADD COLUMN session TEXT;
ALTER TABLE jobs ADD COLUMN agent TEXT;
ALTER TABLE jobs ADD COLUMN at INTEGER;
ALTER TABLE jobs ADD COLUMN claim INTEGER;   -- the same for all that were claimed together
-- By step: one that cannot be done for long must not stand in the way of another.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (state, step, due, owner, id);
CREATE INDEX jobs_group ON jobs (step, owner, session, agent, at, id, due)
    WHERE state = 'ready' AND at IS NOT NULL;
CREATE INDEX jobs_again ON jobs (step, due) WHERE state = 'ready' AND attempts > 0;
CREATE INDEX jobs_lease ON jobs (step, lease_until) WHERE state = 'running';

-- What was spent on models, by owner and day (UTC, ISO).
CREATE TABLE spend (
    owner         INTEGER NOT NULL REFERENCES owners,
    day           TEXT NOT NULL,
    calls         INTEGER NOT NULL CHECK (calls >= 0),
    prompt_tokens INTEGER NOT NULL CHECK (prompt_tokens >= 0),
    answer_tokens INTEGER NOT NULL CHECK (answer_tokens >= 0),
    cost          REAL NOT NULL CHECK (cost >= 0),
    PRIMARY KEY (owner, day)
) STRICT, WITHOUT ROWID;
