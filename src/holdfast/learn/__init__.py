"""From what was said to what is known: the queue's worker, and the steps that it takes.

`worker.py` takes jobs from the durable queue. `embed.py` makes vectors; `step.py` reads the turns
of a conversation (with a language model: `llm/`, with spaCy: `nlp.py`, by the rules of
`language/`), plans what follows from them and stores it in one commit.
"""
