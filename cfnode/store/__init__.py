"""What lies on disk: the pruned LMDB store and the keystore files."""
