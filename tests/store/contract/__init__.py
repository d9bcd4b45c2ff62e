"""The shipped test kit: fakes that need no network, and the store contract as tests."""

from holdfast.testing.fakes import HashEmbedder

__all__ = ["HashEmbedder"]
