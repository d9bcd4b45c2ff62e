"""Measure retrieval on labelled conversations, through the public API, without any LLM.

data.py reads the sets, run.py asks every question, metrics.py judges the rankings, report.py writes
them down, cache.py keeps embeddings between runs. How to use it: docs/howto/evaluate.md.
"""
