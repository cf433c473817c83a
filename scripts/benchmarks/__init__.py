"""The project's figures: each module measures one room against its yardstick, in one run."""
