"""Partners: programs of others that open channels in the broker's name, with a key, terms and a budget.

`registry` has the partners, `access` decides about their requests. Rates and budgets are counted in the
database, so that several processes share them.
"""
