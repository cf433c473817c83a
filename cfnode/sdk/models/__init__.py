"""Values that the SDK takes and returns: frozen dataclasses with `from_json` and `to_json`."""
