"""The methods of Substrate: `system_*`, `chain_*`, `state_*`, `author_*` and their like."""
