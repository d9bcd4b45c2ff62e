"""The knowledge graph: entities and relations as records of the tier `graph`, and walks over them.

`verbs.py` holds what callers use. `check.py` reads what they send, `plan.py` makes records of it
and asks `resolve.py` whether a new name means somebody known; such a merge is a record too, and can
be undone. `follow.py` keeps an owner's graph in memory as an `Adjacency`, in which merged entities
are one; `walk.py` walks over that and makes what callers see of it.
"""
