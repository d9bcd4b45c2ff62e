"""The knowledge base: documents, their chunks, and values under keys."""
