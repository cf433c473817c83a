"""Webhooks: signed HTTP requests that notify other programs of a swap's change of state.

`outbox` notes changes in the transaction of their block, `registry` has the receivers, `deliverer` sends.
Headers and signature follow the Standard Webhooks specification (standardwebhooks.com).
"""
