"""The values that go into the SDK and come out of it: frozen dataclasses with `from_json` and `to_json`."""
