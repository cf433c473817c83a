"""Migrations of the books' tables, one module each; a published migration is never changed."""
