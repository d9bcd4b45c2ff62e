"""A memory behind a service: the verbs of the embedded one, with their types, over HTTP.

`remote.py` lists the verbs once, for `Client` and `AsyncClient`. A call is made of its verb of the
catalogue (`caller.py`), sent and if need be sent again (`transport.py`), and its answer becomes the
type that the verb gives, or an error of our tree.
"""
