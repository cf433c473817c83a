"""Documents about a swap: pure functions of its history, without the chain, a clock, or a database.

`status` writes version 2 of the official status, `status_v1` version 1 of it; `partner` the partner API's
form of both a status and a quote, `webhook` the body that receivers of webhooks get.
"""
