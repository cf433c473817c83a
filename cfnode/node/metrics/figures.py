"""Exported figures of the accounts of the node's broker and liquidity provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from cfnode.node.metrics.account import AccountMetrics
from cfnode.node.metrics.registry import MetricsRegistry
from cfnode.node.signing.submission_tally import SubmissionTally

__all__ = [
    "BrokerFigures",
    "ProviderFigures",
    "ReadBroker",
    "ReadProvider",
    "broker_metrics",
    "provider_metrics",
]


@dataclass(frozen=True, slots=True)
class BrokerFigures:
    """The broker's figures. Amounts in whole units; `earned_fees` by asset (`Ethereum/USDC`)."""

    flip: float
    earned_fees: Mapping[str, float]
    open_channels: int


@dataclass(frozen=True, slots=True)
class ProviderFigures:
    """The provider's figures.

    Amounts in whole units; `free_balances` by asset (`Ethereum/USDC`), without orders.
    """

    flip: float
    free_balances: Mapping[str, float]


ReadBroker = Callable[[bytes], Awaitable[BrokerFigures]]
"""A function that reads the figures at a block."""
ReadProvider = Callable[[bytes], Awaitable[ProviderFigures]]


def broker_metrics(
    registry: MetricsRegistry, tally: SubmissionTally, best: Callable[[], bytes | None]
) -> AccountMetrics[BrokerFigures]:
    """Return the metrics of the node's broker account."""
    account = AccountMetrics[BrokerFigures]("broker", registry, tally, best)
    account.export("flip_balance", lambda known: known.flip)
    account.export("open_channels", lambda known: known.open_channels)
    account.export_each("earned_fees", lambda known: known.earned_fees)
    return account


def provider_metrics(
    registry: MetricsRegistry, tally: SubmissionTally, best: Callable[[], bytes | None]
) -> AccountMetrics[ProviderFigures]:
    """Return the metrics of the node's liquidity provider."""
    account = AccountMetrics[ProviderFigures]("lp", registry, tally, best)
    account.export("flip_balance", lambda known: known.flip)
    account.export_each("free_balance", lambda known: known.free_balances)
    return account
