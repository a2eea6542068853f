"""Runs migrations on the connection that the store is opened with, in its transaction."""

from alembic import context

from compactor.session.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=False)
context.run_migrations()
