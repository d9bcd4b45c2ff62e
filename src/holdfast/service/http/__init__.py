"""The HTTP service: `app.py` puts it together; see docs/reference/http.md."""
