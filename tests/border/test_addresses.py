"""What a memory is called in messages."""

import pytest

from holdfast.border.validate import without_password


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("memory.db", "memory.db"),
        ("sqlite:///memory.db", "sqlite:///memory.db"),
        ("postgresql://db.example/memory", "postgresql://db.example/memory"),
        ("postgresql://ann:s3cret@db.example:5432/memory", "postgresql://db.example:5432/memory"),
        ("postgresql://ann:s3@cr/et@db.example/memory", "postgresql://db.example/memory"),
        ("postgresql://db.example/memory?user=a&password=s3cret", "postgresql://db.example/memory"),
        ("postgresql://ann:s3?cret@db.example/memory", "postgresql://..."),
        ("http://localhost:3050", "http://localhost:3050"),
    ],
)
def test_no_password_is_in_it(url: str, told: str) -> None:
    assert without_password(url) == told
