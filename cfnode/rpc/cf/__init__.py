"""The `cf_*` methods: answers of the State Chain's runtime in the JSON of Chainflip's custom RPC.

`method` makes a row of the method table from a runtime API, `json_encoder` turns its answer into JSON by the
types of the block's metadata, and `json_overrides` lists where Chainflip's JSON differs from what a type
suggests. The other modules contain rows.
"""
