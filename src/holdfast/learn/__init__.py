"""From what was said to what is known: the queue's worker, and the steps that it takes.

`worker.py` takes jobs from the durable queue. `embed.py` makes vectors; `extract.py` reads the
turns of a conversation (`filter.py`), drafts what they say (`drafts_from_llm.py`, or in a process
of its own `drafts_from_rules.py`, with spaCy `nlp.py`), and `commit.py` stores what follows.
"""
