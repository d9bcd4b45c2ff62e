"""The knowledge graph: entities and relations as records of the tier `graph`, and walks over them.

`verbs.py` holds what callers use. `check.py` reads what they send, `plan.py` makes records of it
(`planned.py`) and asks `resolve.py` whether a new name means somebody known; such a merge is a
record too, and `merging.py` undoes it. `follow.py` keeps an owner's graph in memory as an
`Adjacency`, in which merged entities are one (`joining.py`); `walk.py` walks over that, `shown.py`
tells of it.
"""
