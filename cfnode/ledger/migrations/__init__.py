"""Alembic's migrations, which bring the tables of existing books to a new version, in order."""
