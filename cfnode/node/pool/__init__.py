"""The transaction pool: order, validation, bans, and watchers."""
