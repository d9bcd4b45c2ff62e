"""What the verbs of a memory are called on the wire: one catalogue for the service and its client.

`verb.py` says what a verb is, `verbs.py` lists them all. A verb's parameters, types and words
are those of the Python function it stands for: nothing is written twice.
"""
