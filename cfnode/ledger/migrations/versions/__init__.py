"""The migrations, one module each; a published one is never changed."""
