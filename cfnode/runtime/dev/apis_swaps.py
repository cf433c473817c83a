"""What does the node ask about swaps: those that wait, and what one would give? (`CustomRuntimeApi`)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cfnode.core.assets import ASSETS

from .apis_pools import or_message
from .frame import RuntimeApi, method, struct
from .pallets.ingress_egress.fees import egress_estimate, ingress_estimate
from .pallets.ingress_egress.pallet import INGRESS_EGRESS, IngressEgress
from .pallets.pools.orders import add_limit_order
from .pallets.pools.pallet import STABLE, LiquidityPools
from .pallets.swapping.conversion import input_for_output, network_fee_rate
from .pallets.swapping.fees import share
from .pallets.swapping.pallet import Swapping

__all__ = ["SwapsApi"]

NO_CHUNKS_LEFT = (0, 2)
"""What the chain's own swaps have: no chunk to come, at the least interval."""
LONGEST_MESSAGE = 15_000
NOBODY = bytes(32)
"""Whose orders are those that are only supposed."""

PER_BASIS_POINT = 100

struct(
    "pallet_cf_swapping::SwapLegInfo",
    swap_id="SwapId",
    swap_request_id="SwapRequestId",
    base_asset="Asset",
    quote_asset="Asset",
    side="Side",
    amount="u128",
    source_asset="Option<Asset>",
    source_amount="Option<u128>",
    remaining_chunks="u32",
    chunk_interval="u32",
)


class SwapsApi(RuntimeApi):
    """Swaps that wait, and swaps that might be."""

    api = "CustomRuntimeApi"

    @method("Vec<(SwapLegInfo, u32)>", base_asset="Asset", quote_asset="Asset")
    def cf_scheduled_swaps(self, base_asset: str, quote_asset: str) -> list[tuple[dict[str, Any], int]]:
        """The swaps through a pool that wait for their block, with that block."""
        return [
            (leg, swap["execute_at"])
            for _, swap in self.other(Swapping).ScheduledSwaps.get()
            for leg in self._legs(swap, base_asset)
        ]

    def _legs(self, swap: dict[str, Any], base_asset: str) -> Iterator[dict[str, Any]]:
        remaining, interval = self._chunks(swap["swap_request_id"])
        leg = {
            "swap_id": swap["swap_id"],
            "swap_request_id": swap["swap_request_id"],
            "base_asset": base_asset,
            "quote_asset": STABLE,
            "remaining_chunks": remaining,
            "chunk_interval": interval,
        }
        source, amount = swap["from"], swap["input_amount"]
        if source == base_asset:
            yield leg | {"side": "Sell", "amount": amount, "source_asset": None, "source_amount": None}
        elif swap["to"] == base_asset and source == STABLE:
            yield leg | {"side": "Buy", "amount": amount, "source_asset": None, "source_amount": None}
        elif swap["to"] == base_asset:
            bought_with = self.other(LiquidityPools).quote(source, STABLE, amount)
            yield leg | {
                "side": "Buy",
                "amount": bought_with,
                "source_asset": source,
                "source_amount": amount,
            }

    def _chunks(self, request_id: int) -> tuple[int, int]:
        request = self.other(Swapping).SwapRequests.get(request_id)
        if request is None or isinstance(request["state"], str):
            return NO_CHUNKS_LEFT
        state = request["state"][1]["dca_state"]
        return state["remaining_chunks"], state["chunk_interval"]

    @method(
        "Result<SimulatedSwapInformation, DispatchErrorWithMessage>",
        from_="Asset",
        to="Asset",
        amount="u128",
        broker_commission="u16",
        dca_parameters="Option<DcaParameters>",
        ccm_data="Option<CcmData>",
        exclude_fees="BTreeSet<FeeTypes>",
        additional_limit_orders="Option<Vec<SimulateSwapAdditionalOrder>>",
        is_internal="Option<bool>",
    )
    def cf_pool_simulate_swap(
        self,
        from_: str,
        to: str,
        amount: int,
        broker_commission: int,
        dca_parameters: dict[str, int] | None,
        ccm_data: dict[str, int] | None,
        exclude_fees: list[str],
        additional_limit_orders: list[Any] | None,
        is_internal: bool | None,
    ) -> Any:
        """What a swap would give now, and what it would cost."""
        chunks = dca_parameters["number_of_chunks"] if dca_parameters else 1
        without = frozenset(exclude_fees) | (_INSIDE if is_internal else frozenset())

        def answer() -> dict[str, Any]:
            self._add(additional_limit_orders or ())
            ingress = 0 if without & _INGRESS else min(amount, self._ingress(from_))
            swapped = self._swapped(
                from_, to, amount - ingress, max(1, chunks), broker_commission, without, bool(is_internal)
            )
            egress = 0 if "Egress" in without else min(swapped["output"], self._egress(to, ccm_data))
            return swapped | {
                "ingress_fee": ingress,
                "egress_fee": egress,
                "output": swapped["output"] - egress,
            }

        self.runtime.host.begin()
        try:
            return or_message(answer)
        finally:
            self.runtime.host.rollback()

    def _add(self, orders: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Put orders into the pools as if they were there."""
        pools = self.other(LiquidityPools)
        for number, (_, order) in enumerate(orders):
            pools.ensure(order["quote_asset"] == STABLE, pools.Error.PoolDoesNotExist)
            add_limit_order(
                pools, NOBODY, order["base_asset"], order["side"], number, order["tick"], order["sell_amount"]
            )

    def _swapped(
        self,
        source: str,
        target: str,
        amount: int,
        chunks: int,
        commission: int,
        without: frozenset[str],
        internal: bool,
    ) -> dict[str, Any]:
        """One chunk's swap, taken for all of them; the network fee's least amount is paid once."""
        pools = self.other(LiquidityPools)
        stable = amount if source == STABLE else pools.quote(source, STABLE, amount // chunks) * chunks
        network_fee = 0 if "Network" in without else self._network_fee(source, target, stable, internal)
        broker_fee = share(commission * PER_BASIS_POINT, stable - network_fee)
        left = stable - network_fee - broker_fee
        output = left if target == STABLE else pools.quote(STABLE, target, left // chunks) * chunks
        return {
            "intermediary": None if STABLE in (source, target) else left,
            "output": output,
            "network_fee": network_fee,
            "broker_fee": broker_fee,
        }

    def _network_fee(self, source: str, target: str, stable: int, internal: bool) -> int:
        swapping = self.other(Swapping)
        fee = (swapping.InternalSwapNetworkFee if internal else swapping.NetworkFee).get()
        rate = fee["rate"] if internal else network_fee_rate(swapping, source, target)
        due: int = max(share(rate, stable), fee["minimum"])
        return min(stable, due)

    def _ingress(self, asset: str) -> int:
        pallet = self._chain_of(asset)
        return self._in_asset(pallet, asset, ingress_estimate(pallet, asset))

    def _egress(self, asset: str, ccm: dict[str, int] | None) -> int:
        pallet, message = self._chain_of(asset), None
        if ccm is not None:
            length = min(ccm["message_length"], LONGEST_MESSAGE)
            message = {"gas_budget": ccm["gas_budget"], "message": bytes(length)}
        return self._in_asset(pallet, asset, egress_estimate(pallet, asset, message))

    def _in_asset(self, pallet: IngressEgress, asset: str, estimate: int) -> int:
        return input_for_output(self.other(Swapping), asset, pallet.gas_asset, estimate)

    def _chain_of(self, asset: str) -> IngressEgress:
        return self.other(INGRESS_EGRESS[ASSETS[asset].chain])


_INGRESS = frozenset({"IngressDepositChannel", "IngressVaultSwap"})
_INSIDE = _INGRESS | {"Egress"}
"""What a swap inside the chain does not pay."""
