"""How do the tables of existing books change with a new version? By migrations, in order."""
