-- Owners take turns: the next owner who waits, and what it waits for, are found without a look at
-- the jobs of the others.
CREATE INDEX jobs_turn ON jobs (step, owner, due, id) WHERE state = 'ready';
DROP INDEX jobs_again;
CREATE INDEX jobs_again ON jobs (step, owner, due) WHERE state = 'ready' AND attempts > 0;

-- A job that was in hand when its worker died, or when reading took too long, is claimed by itself
-- from then on. Only what happens then is held against it.
ALTER TABLE jobs ADD COLUMN alone INTEGER NOT NULL DEFAULT 0 CHECK (alone IN (0, 1));
ALTER TABLE jobs ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0 CHECK (deaths >= 0);
CREATE INDEX jobs_alone ON jobs (step, deaths, id) WHERE state = 'ready' AND alone = 1;
