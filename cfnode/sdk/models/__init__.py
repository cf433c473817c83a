"""Which values does the SDK take and return? Frozen dataclasses with `from_json` and `to_json`."""
