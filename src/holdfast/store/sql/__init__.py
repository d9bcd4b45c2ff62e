"""The store in SQL that SQLite and PostgreSQL both read; what differs is in the drivers."""
