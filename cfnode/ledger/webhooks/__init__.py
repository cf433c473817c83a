"""How does another program learn of a swap's change of state? By a signed HTTP request.

`outbox` notes changes in the transaction of their block, `registry` has the receivers, `deliverer` sends.
Headers and signature follow the Standard Webhooks specification (standardwebhooks.com).
"""
