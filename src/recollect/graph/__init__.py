"""The knowledge graph: entities and relations as records of the tier `graph`, and walks over them.

`verbs.py` holds what callers use. `check.py` reads what they send, `plan.py` makes records of it;
`follow.py` keeps an owner's graph in memory as an `Adjacency`, and `walk.py` walks over that.
"""
