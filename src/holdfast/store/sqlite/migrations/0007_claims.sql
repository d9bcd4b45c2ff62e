-- What a record is a version of (`store/values.py`: claim_of): the id of the first version, of a
-- document its name, of an entry its key. Turns and the graph have no versions: NULL.
ALTER TABLE records ADD COLUMN claim TEXT;
-- What is no JSON says nothing of its claim; `doctor` sets such rows aside.
UPDATE records SET claim = CASE
    WHEN tier = 'knowledge' AND kind = 'document' THEN
        'document:' || coalesce(iif(json_valid(data), data, '{}') ->> '$.name', content)
    WHEN tier = 'knowledge' AND kind = 'entry' THEN
        'entry:' || coalesce(iif(json_valid(data), data, '{}') ->> '$.key', '')
    WHEN json_type(iif(json_valid(data), data, '{}'), '$.claim') = 'text' THEN
        coalesce(nullif(data ->> '$.claim', ''), lower(hex(id)))
    ELSE lower(hex(id))
END
WHERE tier NOT IN ('session', 'graph');
-- Of a claim with ten thousand versions the one that holds is found with one look.
CREATE INDEX records_claim ON records (owner, claim, known_to) WHERE claim IS NOT NULL;
