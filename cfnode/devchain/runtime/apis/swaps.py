"""`CustomRuntimeApi` methods for swaps: the scheduled ones, and quotes by simulation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cfnode.core.amm import MAX_SQRT_PRICE, price_of
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError, RuntimeApi, RuntimeTrap, method, struct
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.ingress_egress.fees import (
    Withheld,
    egress_estimate,
    fee_of,
    ingress_estimate,
)
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS, IngressEgressStorage
from cfnode.devchain.runtime.pallets.pools import trading
from cfnode.devchain.runtime.pallets.pools.orders import add_limit_order
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.stored import STABLE
from cfnode.devchain.runtime.pallets.swap_requests.ccm import supports_ccm
from cfnode.devchain.runtime.pallets.swap_requests.conversion import input_for_output
from cfnode.devchain.runtime.pallets.swap_requests.fees import network_fee, network_fee_due, share, tracker_of
from cfnode.devchain.runtime.pallets.swap_requests.oracle import relative_price
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.swaps.limits import MAX_CCM_MESSAGE_BYTES

from .answers import Answer, ApiRefusal, or_message

__all__ = ["SwapsApi"]

NO_CHUNKS_LEFT = (0, 2)
"""Remaining chunks and chunk interval of the chain's own swaps: no chunk to come, the least interval."""
SIMULATED_OWNER = bytes(32)
"""The owner of the additional orders of a simulation."""

_PANIC = "CustomRuntimeApi_cf_scheduled_swaps: panicked at state-chain/runtime/src/runtime_apis/impl_api.rs"

_FAILED_LEG = "Simulated swap failed on the {} leg: swap leg failed."
_FAILED_SWAP = "Swap leg failed."
_FAILED_FEE = "Failed to calculate network fee: Swap leg failed."
"""Texts by which clients recognize an error of a quote: before 2.2.9 it did not name the leg."""

PER_BASIS_POINT = 100
ALL_BASIS_POINTS = 10_000
"""The whole amount: a higher commission counts as zero."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """What is swapped in a simulation, and for which fees. Without a network fee: it is left out."""

    source: str
    target: str
    amount: int
    chunks: int
    commission: int
    network_fee: values.FeeRateAndMinimum | None


class SwapsApi(RuntimeApi):
    """Swaps that wait, and swaps that might be."""

    api = "CustomRuntimeApi"

    @method("Vec<(SwapLegInfo, u32)>", base_asset="Asset", quote_asset="Asset")
    def cf_scheduled_swaps(self, base_asset: str, quote_asset: str) -> list[tuple[values.SwapLegInfo, int]]:
        """Return the swaps through a pool that wait, with their block; none while swaps are off."""
        _check_pair(base_asset, quote_asset)
        if not self.other(EnvironmentStorage).safe_mode("swapping", "swaps_enabled"):
            return []
        return [
            (leg, swap.execute_at)
            for _, swap in self.other(SwappingStorage).ScheduledSwaps.get()
            for leg in self._legs(swap, base_asset)
        ]

    def _legs(self, swap: values.Swap, base_asset: str) -> Iterator[values.SwapLegInfo]:
        source, amount = swap.from_, swap.input_amount
        if base_asset not in (source, swap.to):
            return
        request = self.other(SwappingStorage).SwapRequests.known(swap.swap_request_id)
        remaining, interval = _chunks(request)
        leg = values.SwapLegInfo(
            swap_id=swap.swap_id,
            swap_request_id=swap.swap_request_id,
            base_asset=base_asset,
            quote_asset=STABLE,
            side="Sell",
            amount=amount,
            source_asset=None,
            source_amount=None,
            remaining_chunks=remaining,
            chunk_interval=interval,
        )
        if source == base_asset:
            yield leg
            return
        input_amount = self._bought_with(source, amount)
        for_network, _ = network_fee_due(self._network_tracker(request), input_amount)
        leg = dataclasses.replace(leg, side="Buy", amount=input_amount - for_network)
        is_two_legged = source != STABLE
        yield dataclasses.replace(leg, source_asset=source, source_amount=amount) if is_two_legged else leg

    def _bought_with(self, source: str, amount: int) -> int:
        """Estimate how much USDC a swap's first leg gives: by the oracle, or else at the pool's price."""
        if source == STABLE:
            return amount
        price = relative_price(self.other(SwappingStorage), source, STABLE)
        if price is None:
            root = self.other(PoolsStorage).pool(source).price("base")
            price = price_of(MAX_SQRT_PRICE if root is None else root)
        return int(-(-amount * price >> 128))

    def _network_tracker(self, request: values.SwapRequest) -> values.NetworkFeeTracker:
        """Return the network fee of a request, as if it had paid nothing yet."""
        assets, state = (request.input_asset, request.output_asset), request.state
        internal = isinstance(state, values.SwapRequestStateUserSwap) and isinstance(
            state.output_action, values.SwapOutputActionCreditOnChain
        )
        fee = network_fee(self.other(SwappingStorage), *assets, internal=internal)
        if state == "NetworkFee":
            fee = values.FeeRateAndMinimum(rate=0, minimum=0)
        elif state == "IngressEgressFee":
            fee = dataclasses.replace(fee, minimum=0)
        return tracker_of(fee)

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
        dca_parameters: values.DcaParameters | None,
        ccm_data: values.CcmData | None,
        exclude_fees: list[str],
        additional_limit_orders: Sequence[values.SimulateSwapAdditionalOrder] | None,
        is_internal: bool | None,
    ) -> Answer[values.SimulatedSwapInformation]:
        """Return what a swap would give now, and what it would cost."""
        chunks = dca_parameters.number_of_chunks if dca_parameters else 1
        excluded = frozenset(exclude_fees) | (_INSIDE if is_internal else frozenset())

        def answer() -> values.SimulatedSwapInformation:
            self._add(additional_limit_orders or ())
            ingress = self._ingress(from_, amount, excluded)
            is_by_leg = self.runtime.release.rules.quotes_go_by_legs
            fee = network_fee(self.other(SwappingStorage), from_, to, internal=bool(is_internal))
            terms = _Terms(
                source=from_,
                target=to,
                amount=ingress.remaining,
                chunks=max(1, chunks),
                commission=broker_commission,
                network_fee=None if "Network" in excluded else fee,
            )
            swapped = self._swapped(terms) if is_by_leg else self._swapped_at_once(terms)
            egress = self._egress(to, swapped.output, ccm_data, excluded)
            return dataclasses.replace(
                swapped, ingress_fee=ingress.fee, egress_fee=egress.fee, output=egress.remaining
            )

        self.runtime.host.begin()
        try:
            return or_message(answer)
        finally:
            self.runtime.host.rollback()

    def _add(self, orders: Sequence[values.SimulateSwapAdditionalOrder]) -> None:
        """Put the additional orders of a simulation into the pools."""
        pools = self.other(PoolsStorage)
        for number, order in enumerate(orders):
            pools.ensure(order.quote_asset == STABLE, pools.Error.PoolDoesNotExist)
            add_limit_order(
                pools, SIMULATED_OWNER, order.base_asset, order.side, number, order.tick, order.sell_amount
            )

    def _swapped(self, terms: _Terms) -> values.SimulatedSwapInformation:
        """Simulate one chunk's swap, and multiply; the network fee's least amount is paid once.

        The fees of the deposit and of the transfer are not part of it.
        """
        chunk = terms.amount // terms.chunks
        stable = terms.chunks * self._leg(_FAILED_LEG.format("input"), terms.source, STABLE, chunk)
        fee = terms.network_fee
        for_network = 0 if fee is None else network_fee_due(tracker_of(fee), stable)[0]
        chunk_amount = (stable - for_network) // terms.chunks
        return self._bought(_FAILED_LEG.format("output"), terms, chunk_amount, for_network)

    def _swapped_at_once(self, terms: _Terms) -> values.SimulatedSwapInformation:
        """Simulate one chunk's swap by the rules of 2.2.3: the network fee is taken from the input."""
        fee_amount, for_network = self._network_fee_in_input(terms)
        chunk = max(0, terms.amount - fee_amount) // terms.chunks
        stable = self._leg(_FAILED_SWAP, terms.source, STABLE, chunk)
        return self._bought(_FAILED_SWAP, terms, stable, for_network)

    def _bought(
        self, failure: str, terms: _Terms, stable: int, for_network: int
    ) -> values.SimulatedSwapInformation:
        """Simulate what all chunks buy, each with `stable` USDC, less the broker's commission."""
        for_broker = _for_broker(terms.commission, stable)
        after_broker = stable - for_broker
        output = self._leg(failure, STABLE, terms.target, after_broker)
        return values.SimulatedSwapInformation(
            intermediary=None if STABLE in (terms.source, terms.target) else after_broker * terms.chunks,
            output=output * terms.chunks,
            network_fee=for_network,
            ingress_fee=0,
            egress_fee=0,
            broker_fee=for_broker * terms.chunks,
        )

    def _network_fee_in_input(self, terms: _Terms) -> tuple[int, int]:
        """Return the network fee in the input asset, and in USDC: by rate, or the minimum if that is more."""
        fee, source = terms.network_fee, terms.source
        if fee is None:
            return 0, 0
        minimum = input_for_output(self.other(SwappingStorage), source, STABLE, fee.minimum, with_fee=False)
        fee_amount = share(fee.rate, terms.amount)
        if minimum > fee_amount:
            return minimum, fee.minimum
        stable = self._leg(_FAILED_FEE, source, STABLE, terms.amount // terms.chunks)
        for_network = share(fee.rate, stable)
        self._leg(_FAILED_FEE, STABLE, terms.target, stable - for_network)
        return fee_amount, for_network * terms.chunks

    def _leg(self, failure: str, source: str, target: str, amount: int) -> int:
        """Return what a pool gives for an amount. Raises Refused(failure), which does not name the reason."""
        if source == target:
            return amount
        try:
            return trading.quote(self.other(PoolsStorage), source, target, amount)
        except DispatchError:
            raise ApiRefusal(failure) from None

    def _ingress(self, asset: str, amount: int, without: frozenset[str]) -> Withheld:
        """Take the fee of a deposit channel; of a vault swap if that fee is left out; or none."""
        pallet = self._chain_of(asset)
        for fee_name, origin in _INGRESS.items():
            if fee_name not in without:
                return fee_of(
                    pallet,
                    asset,
                    min(amount, pallet.chain.max_amount),
                    ingress_estimate(pallet, asset, origin),
                )
        return Withheld(amount, 0)

    def _egress(
        self, asset: str, amount: int, ccm: values.CcmData | None, without: frozenset[str]
    ) -> Withheld:
        if "Egress" in without:
            return Withheld(amount, 0)
        pallet, message = self._chain_of(asset), None
        if ccm is not None:
            length = min(ccm.message_length, MAX_CCM_MESSAGE_BYTES)
            message = values.CcmChannelMetadata(
                message=bytes(length), gas_budget=ccm.gas_budget, ccm_additional_data=b""
            )
        # A chain without messages (Bitcoin) takes no fee for a transfer with one.
        estimate = egress_estimate(pallet, asset, message) if ccm is None or supports_ccm(asset) else 0
        return fee_of(pallet, asset, min(amount, pallet.chain.max_amount), estimate)

    def _chain_of(self, asset: str) -> IngressEgressStorage:
        return self.other(INGRESS_EGRESS[ASSETS[asset].chain])


def _check_pair(base: str, quote: str) -> None:
    """Raise RuntimeTrap if the two assets are not the pair of a pool.

    The chain panics then; text and place are those of 2.2.9.
    """
    sides = f"\n  left: {quote}\n right: {STABLE}"
    if quote != STABLE:
        fault = ":1293:13:\nassertion `left == right` failed: Only USDC is supported as quote asset"
        raise RuntimeTrap(_PANIC + fault + sides)
    if base == STABLE:
        fault = ":1294:13:\nassertion `left != right` failed: Invalid asset pair: "
        fault += "base and quote asset must be different"
        raise RuntimeTrap(_PANIC + fault + sides)


def _for_broker(commission: int, stable: int) -> int:
    return share(commission * PER_BASIS_POINT, stable) if commission <= ALL_BASIS_POINTS else 0


def _chunks(request: values.SwapRequest) -> tuple[int, int]:
    if not isinstance(request.state, values.SwapRequestStateUserSwap):
        return NO_CHUNKS_LEFT
    dca = request.state.dca_state
    return dca.remaining_chunks, dca.chunk_interval


_INGRESS = {"IngressDepositChannel": "DepositChannel", "IngressVaultSwap": "Vault"}
_INSIDE = frozenset({*_INGRESS, "Egress"})
"""Fees that a swap inside the chain does not pay."""
