"""Measure retrieval on labelled conversations, through the public API, without any LLM.

data.py reads the sets, methods.py lists what is compared, run.py ingests and asks, metrics.py
judges the rankings, report.py and page.py write them down, cache.py keeps embeddings between runs.
How to use it: docs/howto/evaluate.md.
"""
