"""Bring a file to the schema of this version: ordered .sql files, each in one transaction."""

from __future__ import annotations

import re
from importlib import resources

import apsw

from holdfast.errors import SchemaTooNew
from holdfast.store.sqlite.connection import APPLICATION_ID, patiently


def migrations() -> list[tuple[int, str]]:
    """(version, sql) of every migration, in order."""
    folder = resources.files("holdfast.store.sqlite") / "sql"
    found = []
    for file in folder.iterdir():
        if match := re.fullmatch(r"(\d{4})_\w+\.sql", file.name):
            found.append((int(match.group(1)), file.read_text(encoding="utf-8")))
    return sorted(found)


def migrate(connection: apsw.Connection, path: str) -> None:
    """Apply what is missing. Two processes may do so at once: each step looks again inside."""
    newest = migrations()[-1][0]
    if _version(connection, path) == newest:
        return
    for version, sql in migrations():
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            if _version(connection, path) < version:
                connection.execute(sql)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _version(connection: apsw.Connection, path: str) -> int:
    version = int(connection.pragma("user_version"))
    newest = migrations()[-1][0]
    if version > newest:
        raise SchemaTooNew(
            f"{path} has schema {version}, this version of Holdfast knows {newest}: "
            "upgrade Holdfast to open it"
        )
    return version
