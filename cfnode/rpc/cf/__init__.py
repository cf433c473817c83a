"""The `cf_*` methods: what the State Chain's own runtime answers, as Chainflip's custom RPC shows it.

`method` makes a row of the method table from a runtime API, `present` turns its answer into JSON by the
types of the block's metadata, `rules` lists where Chainflip's JSON differs from what a type suggests. The
other modules are rows.
"""
