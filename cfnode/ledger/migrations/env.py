"""Alembic's environment: migrations run on the connection and in the transaction of `Database.migrate`."""

from __future__ import annotations

from alembic import context

from cfnode.ledger.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
