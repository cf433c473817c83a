"""Vault swaps: what the runtime encodes, and what is sent to a vault."""

from __future__ import annotations

from typing import Any

from cfnode.core.addresses import NETWORKS, script_to_text
from cfnode.core.assets import ASSETS
from tests.devchain.runtime.broker import Broker, address_on, refund
from tests.devchain.runtime.swapper import Swapper

BITCOIN = ("Bitcoin", {"min_output_amount": 7, "retry_duration": 10, "max_oracle_price_slippage": None})


def evm(chain: str, amount: int = 5, **changes: Any) -> tuple[str, Any]:
    """Return the parameters of a vault swap from an EVM chain."""
    return chain, {"input_amount": amount, "refund_parameters": refund(chain, **changes)}


def encoded(broker: Broker, extra: Any, source: str = "Eth", destination: str = "Sol", **changes: Any) -> Any:
    """Return the encoded vault swap of a request."""
    usual = {
        "destination_address": address_on(ASSETS[destination].chain),
        "broker_commission": 10,
        "channel_metadata": None,
        "boost_fee": 0,
        "affiliate_fees": [],
        "dca_parameters": None,
    } | changes
    address, commission, *other_terms = usual.values()
    return broker.world.api(
        "CustomRuntimeApi_cf_request_swap_parameter_encoding",
        broker.account,
        source,
        destination,
        address,
        commission,
        extra,
        *other_terms,
    )


TRANSACTION = b"\x77" * 32


def transaction(broker: Swapper, extra: Any, source: str, destination: str, **changes: Any) -> Any:
    """Return the encoded vault swap, as `VaultSwapDetails<str>`."""
    kind, answer = encoded(broker, extra, source, destination, **changes)
    assert kind == "Ok", answer
    chain, details = answer
    if chain == "Bitcoin":
        text = script_to_text(details["deposit_address"], NETWORKS["Development"])
        details = details | {"deposit_address": text}
    return chain, details


def send(broker: Swapper, details: Any, **changes: Any) -> str:
    """Send a vault swap to its chain; return the outcome."""
    usual: dict[str, Any] = {"sender": None, "amount": None, "transaction": TRANSACTION, "is_final": True}
    return broker.dev("send_to_vault", details=details, **(usual | changes))


def opened(broker: Swapper, **changes: Any) -> Any:
    """Return a private channel, and a transaction to it."""
    assert broker.swapping("open_private_btc_channel") == "Ok"
    return transaction(broker, BITCOIN, "Btc", "Eth", **changes)
