"""Expressions of time, and the intervals they stand for."""
