"""Estimates of what transactions on a foreign chain cost."""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.rules import Rules, TronEnergy

__all__ = ["Costs", "FeeData", "TrackedData"]

TrackedData = (
    values.EthereumTrackedData
    | values.ArbitrumTrackedData
    | values.BscTrackedData
    | values.BitcoinTrackedData
    | values.SolTrackedData
    | values.PolkadotTrackedData
    | values.AssethubTrackedData
    | tuple[()]
)
"""The tracked fees of a chain; empty on Tron."""
FeeData = TrackedData | TronEnergy
"""What the fees of a chain depend on."""


class Costs:
    """Fees of a chain's transactions, in the smallest unit of its coin.

    `tracked` is what `basis` has returned; `native` says that the asset is the chain's own coin.
    """

    scales_messages = True
    """Whether the fee multiplier that governance sets counts for messages."""

    def basis(self, tracked: TrackedData, rules: Rules) -> FeeData:
        """Return what the fees depend on, from the chain's tracked fees and the rules of the release."""
        return tracked

    def ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of bringing a deposit from a channel into the vault."""
        raise NotImplementedError

    def vault_ingress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of a deposit that was sent to the vault: on most chains it is there already."""
        return 0

    def egress(self, tracked: FeeData, native: bool) -> int:
        """Return the cost of a transfer."""
        raise NotImplementedError

    def message(self, tracked: FeeData, native: bool, budget: int, length: int) -> int:
        """Return the cost of a transfer with a message of `length` bytes and its gas budget."""
        raise NotImplementedError
