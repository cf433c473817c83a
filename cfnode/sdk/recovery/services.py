"""Swap services that may be queried for a swap, and the failed payouts that they report.

The node's own service comes first: a development node has one. The network's public service is queried after
it, but only if the node serves that network: queries about a chain on this machine do not leave the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from cfnode.core.addresses import AddressError, parse_address
from cfnode.core.assets import asset_by_symbol
from cfnode.core.foreign import ForeignError, whole_number
from cfnode.sdk.calls.statuses import GetStatusV2
from cfnode.sdk.errors import BackendError, RpcCallError
from cfnode.sdk.exchange import Steps, http_url, rpc
from cfnode.sdk.models.payout import evidence_of
from cfnode.sdk.models.status import SwapStatus
from cfnode.sdk.models.transfer import Egress
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.errors import BadPayload
from cfnode.sdk.recovery.payload import Payload, read_payload
from cfnode.sdk.recovery.payments import Finding, Payment, paying
from cfnode.swaps.journey import JourneyState

__all__ = ["find_by_service", "payments_of_status", "services"]

_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
_GENESIS = {"mainnet": "0x8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9"}
"""The genesis hash of a network, to distinguish it from a copy with other authorities."""
_UNSENT = ("WAITING", "RECEIVING", "SWAPPING", "SENDING", "SENT")
_NO_SERVICE = (404, 405, 403, 501)
"""The HTTP statuses of an unknown swap, and of a server that is not a swap service."""


def services(session: ClientSession) -> Steps[tuple[str, ...]]:
    """Return the addresses of the services to query, in order."""
    if session.options.backend_url is not None:
        return (session.backend_url,)
    public, node_url = session.backend_url, http_url(session.rpc_url).rstrip("/")
    if session.options.rpc_url is None or public == node_url:
        return (public,)
    return (node_url, public) if (yield from _serves_the_network(session)) else (node_url,)


def find_by_service(session: ClientSession, url: str, reference: str) -> Steps[Finding]:
    """Return the finding of one service; `is_known` is False if the swap is unknown to it."""
    service = copy(session)
    service.backend_url = url
    try:
        status = yield from GetStatusV2(reference).steps(service)
    except BackendError as error:
        if error.status in _NO_SERVICE:
            return Finding(is_known=False)
        raise
    return payments_of_status(status, reference)


def payments_of_status(status: SwapStatus, reference: str) -> Finding:
    """Return the failed payouts in the status of a swap."""
    refund = status.fill_or_kill_params and status.fill_or_kill_params.refund_address
    egresses = (
        (status.fallback_egress, status.dest_chain, status.dest_asset, status.dest_address),
        (status.swap_egress, status.dest_chain, status.dest_asset, status.dest_address),
        (status.refund_egress, status.src_chain, status.src_asset, refund),
    )
    failed = [
        _payment(egress, chain or "", symbol or "", address or "")
        for egress, chain, symbol, address in egresses
        if egress is not None and (egress.failure is not None or egress is status.fallback_egress)
    ]
    return Finding(tuple(failed), _reason(status, reference))


def _payment(egress: Egress, chain: str, symbol: str, address: str) -> Payment:
    try:
        asset = asset_by_symbol(chain, symbol).name
    except KeyError:
        asset = None
    state = evidence_of(egress, chain).state or JourneyState.FAILED
    payment = Payment(chain, asset, egress.amount, _account(chain, address), state=state)
    call = _signed(egress, chain)
    if call is None:
        return payment
    nonce = None if call.is_batch else call.nonce
    return replace(payment, signed=paying(payment, call), nonce=nonce, is_batch=call.is_batch)


def _signed(egress: Egress, chain: str) -> Payload | None:
    """Return the signed call in the service's answer; None without a readable one."""
    payload = egress.transaction_payload
    if not isinstance(payload, Mapping):
        return None
    try:
        document: dict[str, Any] = {
            "contract": payload.get("contract"),
            "data": payload.get("data"),
            "chain_id": whole_number(payload.get("chainId", 0), 64),
        }
        return read_payload(chain, 0, document, None)
    except (BadPayload, ForeignError):
        return None


def _reason(status: SwapStatus, reference: str) -> str:
    failure = status.deposit.failure if status.deposit is not None else None
    if failure is not None:
        return f"the deposit of {reference} was not accepted: {failure.reason.get('message') or failure.mode}"
    if status.deposit is None and status.state == "WAITING":
        return f"no deposit has arrived for {reference} yet: there is nothing to recover"
    if status.state in _UNSENT:
        return f"nothing of {reference} has failed: it is {status.state}, and not paid out yet"
    return f"nothing of {reference} has failed: it is {status.state}, and the payout went through"


def _account(chain: str, text: str) -> bytes | None:
    try:
        account = parse_address(chain, text)[1]
    except (AddressError, KeyError):
        return None
    return account if len(account) == 20 else None


def _serves_the_network(session: ClientSession) -> Steps[bool]:
    """Return whether the node's chain is the network's, and not a copy or a development chain."""
    if session.network.name == "dev":
        return False
    try:
        genesis = yield from rpc(session, session.rpc_url, "chain_getBlockHash", [0])
        kind = yield from rpc(session, session.rpc_url, "system_chainType", [])
    except RpcCallError:
        return False
    if (expected := _GENESIS.get(session.network.name)) is not None:
        return bool(genesis == expected)
    return kind == "Live" and urlsplit(session.rpc_url).hostname not in _LOCAL
