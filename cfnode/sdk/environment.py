"""Limits of the State Chain from `cf_environment`, cached for a minute."""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.sdk.errors import BadAnswer
from cfnode.sdk.exchange import Steps, origin_of, rpc
from cfnode.sdk.limits import SwapEnvironment
from cfnode.sdk.options import ClientSession

__all__ = ["environment"]

ENVIRONMENT_CACHE_S = 60.0


def environment(session: ClientSession) -> Steps[SwapEnvironment]:
    """Return the environment, cached for ENVIRONMENT_CACHE_S; a failure is not cached."""
    if session.environment and session.monotonic() - session.environment[0] < ENVIRONMENT_CACHE_S:
        return session.environment[1]
    document = yield from rpc(session, session.rpc_url, "cf_environment", [])
    parts = document if isinstance(document, Mapping) else {}
    if not all(isinstance(parts.get(name), Mapping) for name in ("ingress_egress", "swapping")):
        text = "malformed cf_environment: expected ingress_egress and swapping"
        raise BadAnswer(text, url=origin_of(session.rpc_url), sent=True, retryable=False)
    fetched = SwapEnvironment(parts["ingress_egress"], parts["swapping"], origin_of(session.rpc_url))
    session.environment = session.monotonic(), fetched
    return fetched
