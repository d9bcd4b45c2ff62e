"""Memory for any OpenAI-compatible program: `routes.py` puts it together."""
