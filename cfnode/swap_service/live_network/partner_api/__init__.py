"""The partner API: partners' programs open channels in the broker's name by HTTP, each with its own key.

`operations` declares the requests, `schema` their bodies and answers; requests are validated with them, and
the OpenAPI document is made of them. `app` answers, below `/v1/` on the port of `cfnode service run`.
"""
