"""The knowledge graph as text and as a drawing."""
