"""Which programs of others may open channels in the broker's name, on which terms, and how many?

`registry` has the partners, `access` decides about their requests. Rates and budgets are counted in the
database, so that several processes share them.
"""
