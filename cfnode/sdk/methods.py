"""The methods of both clients, one for each call.

Written by scripts/sdk_methods.py: change the calls instead. Descriptions are theirs, hence the longer lines.
"""

# fmt: off
# ruff: noqa: A002, E501
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from cfnode.sdk.calls import Call
from cfnode.sdk.calls.deposits import RequestDepositAddress, RequestDepositAddressV2
from cfnode.sdk.calls.development import DevDeposit
from cfnode.sdk.calls.infos import (
    GetAssets,
    GetBoostLiquidity,
    GetChains,
    GetChannelOpeningFees,
    GetRequiredBlockConfirmations,
    GetSwapLimits,
)
from cfnode.sdk.calls.quotes import GetQuote, GetQuoteV2
from cfnode.sdk.calls.statuses import GetStatus, GetStatusV2
from cfnode.sdk.calls.vault_swaps import EncodeVaultSwapData
from cfnode.sdk.models.chain_info import AssetInfo, BoostLiquidity, ChainInfo, SwapLimits
from cfnode.sdk.models.channel import DepositAddress
from cfnode.sdk.models.quote import Quote, QuoteCcmParams, QuoteResponse, QuotesResponse
from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.models.status import SwapStatus, SwapStatusV1
from cfnode.sdk.models.vault_swap import VaultSwapData

__all__ = ["AwaitedMethods", "BlockingMethods"]

T = TypeVar("T")


class BlockingMethods:
    """Each call as a method that returns its result."""

    def call(self, call: Call[T]) -> T:
        """The result of any call."""
        raise NotImplementedError

    def get_quote(
        self, src_chain: str, src_asset: str, dest_chain: str, dest_asset: str, amount: int,
        broker_commission_bps: int | None = None, affiliate_brokers: Sequence[AffiliateBroker] = (),
        ccm_params: QuoteCcmParams | None = None, is_vault_swap: bool = False,
    ) -> QuoteResponse:
        """One quote, without chunks; arguments and errors as in `get_quote_v2`."""
        return self.call(GetQuote(
            src_chain, src_asset, dest_chain, dest_asset, amount, broker_commission_bps, affiliate_brokers,
            ccm_params, is_vault_swap,
        ))

    def get_quote_v2(
        self, src_chain: str, src_asset: str, dest_chain: str, dest_asset: str, amount: int,
        broker_commission_bps: int | None = None, affiliate_brokers: Sequence[AffiliateBroker] = (),
        ccm_params: QuoteCcmParams | None = None, is_vault_swap: bool = False,
    ) -> QuotesResponse:
        """All quotes, also for a swap in chunks if that feature is enabled.

        `amount` is in base units of the source asset; commissions are in basis points, and the quote uses their
        sum. `ccm_params`: gas and length of a message. Raises BackendError if the swap is impossible: too small,
        too large, too little liquidity.
        """
        return self.call(GetQuoteV2(
            src_chain, src_asset, dest_chain, dest_asset, amount, broker_commission_bps, affiliate_brokers,
            ccm_params, is_vault_swap,
        ))

    def get_status(self, id: str | int) -> SwapStatusV1:
        """The older, flat status of a swap; names and errors as in `get_status_v2`."""
        return self.call(GetStatus(id))

    def get_status_v2(self, id: str | int) -> SwapStatus:
        """The status of a swap, by its `deposit_channel_id`, its swap id or a transaction.

        Raises BackendError with the status 404 if the swap is unknown to the swap service (yet).
        """
        return self.call(GetStatusV2(id))

    def request_deposit_address(
        self, src_chain: str, src_asset: str, dest_chain: str, dest_asset: str, dest_address: str,
        amount: int, fill_or_kill_params: FillOrKillParams | None = None, dca_params: DcaParams | None = None,
        max_boost_fee_bps: int | None = None, src_address: str | None = None,
        broker_commission_bps: int | None = None, affiliate_brokers: Sequence[AffiliateBroker] = (),
        ccm_params: CcmParams | None = None,
    ) -> DepositAddress:
        """A deposit address without a quote, the older form; errors as in `request_deposit_address_v2`.

        `amount` is base units of the source asset, fees and commissions are basis points. The lowest price is
        `fill_or_kill_params.min_price`; a tolerance in percent would need a quote.
        """
        return self.call(RequestDepositAddress(
            src_chain, src_asset, dest_chain, dest_asset, dest_address, amount, fill_or_kill_params,
            dca_params, max_boost_fee_bps, src_address, broker_commission_bps, affiliate_brokers, ccm_params,
        ))

    def request_deposit_address_v2(
        self, quote: Quote, dest_address: str, fill_or_kill_params: FillOrKillParams | None = None,
        src_address: str | None = None, broker_commission_bps: int | None = None,
        affiliate_brokers: Sequence[AffiliateBroker] = (), ccm_params: CcmParams | None = None,
    ) -> DepositAddress:
        """A deposit address for a quote of `get_quote_v2`, or for its `boost_quote`, which asks for the boost.

        Commissions in basis points; they, and affiliates, need a broker of one's own. `fill_or_kill_params` may
        be left out except with a DCA quote, if the option `default_refund_addresses` names an address.
        Raises ChainError or RpcCallError where the broker refuses, BackendError where the swap service does. The
        request is made once: a TransportError says with `sent` whether a channel may have been opened.
        """
        return self.call(RequestDepositAddressV2(
            quote, dest_address, fill_or_kill_params, src_address, broker_commission_bps, affiliate_brokers,
            ccm_params,
        ))

    def encode_vault_swap_data(
        self, quote: Quote, dest_address: str, fill_or_kill_params: FillOrKillParams,
        src_address: str | None = None, broker_commission_bps: int | None = None,
        affiliate_brokers: Sequence[AffiliateBroker] = (), ccm_params: CcmParams | None = None,
    ) -> VaultSwapData:
        """Encodes the transaction to the vault for a quote that was requested with `is_vault_swap`.

        `src_address` is needed for Solana: the account that will sign. Commissions in basis points; they, and
        affiliates, need a broker of one's own. Raises RpcCallError where the broker refuses, BackendError where
        the swap service does.
        """
        return self.call(EncodeVaultSwapData(
            quote, dest_address, fill_or_kill_params, src_address, broker_commission_bps, affiliate_brokers,
            ccm_params,
        ))

    def get_chains(self, source_chain: str | None = None) -> tuple[ChainInfo, ...]:
        """The chains of the supported assets, in order of first appearance, without `source_chain`."""
        return self.call(GetChains(source_chain))

    def get_assets(self, chain: str | None = None) -> tuple[AssetInfo, ...]:
        """The supported assets, of one chain or of all."""
        return self.call(GetAssets(chain))

    def get_swap_limits(self) -> SwapLimits:
        """The smallest and largest amount of a swap in base units, by chain and symbol; None means unlimited."""
        return self.call(GetSwapLimits())

    def get_required_block_confirmations(self) -> dict[str, int | None]:
        """Blocks after which a deposit counts, by chain; None if it counts at once."""
        return self.call(GetRequiredBlockConfirmations())

    def get_channel_opening_fees(self) -> dict[str, int]:
        """A broker's fee for opening a channel, in FLIP base units, by source chain."""
        return self.call(GetChannelOpeningFees())

    def get_boost_liquidity(
        self, fee_tier_bps: int | None = None, chain: str | None = None, asset: str | None = None,
    ) -> tuple[BoostLiquidity, ...]:
        """The liquidity of the boost pools, in base units; with an asset, highest tier (basis points) first."""
        return self.call(GetBoostLiquidity(fee_tier_bps, chain, asset))

    def dev_deposit(self, channel: DepositAddress, amount: int | None = None) -> str:
        """Pay into a channel of a development chain (`dev_deposit`); returns the hash of the deposit's block.

        `amount` is base units of the source asset, the channel's expected amount unless given. A node of a real
        network knows no such method and raises RpcCallError.
        """
        return self.call(DevDeposit(channel, amount))


class AwaitedMethods:
    """Each call as a method whose result is awaited."""

    async def call(self, call: Call[T]) -> T:
        """The result of any call."""
        raise NotImplementedError

    async def get_quote(
        self, src_chain: str, src_asset: str, dest_chain: str, dest_asset: str, amount: int,
        broker_commission_bps: int | None = None, affiliate_brokers: Sequence[AffiliateBroker] = (),
        ccm_params: QuoteCcmParams | None = None, is_vault_swap: bool = False,
    ) -> QuoteResponse:
        """As `SwapSDK.get_quote`, to be awaited."""
        return await self.call(GetQuote(
            src_chain, src_asset, dest_chain, dest_asset, amount, broker_commission_bps, affiliate_brokers,
            ccm_params, is_vault_swap,
        ))

    async def get_quote_v2(
        self, src_chain: str, src_asset: str, dest_chain: str, dest_asset: str, amount: int,
        broker_commission_bps: int | None = None, affiliate_brokers: Sequence[AffiliateBroker] = (),
        ccm_params: QuoteCcmParams | None = None, is_vault_swap: bool = False,
    ) -> QuotesResponse:
        """As `SwapSDK.get_quote_v2`, to be awaited."""
        return await self.call(GetQuoteV2(
            src_chain, src_asset, dest_chain, dest_asset, amount, broker_commission_bps, affiliate_brokers,
            ccm_params, is_vault_swap,
        ))

    async def get_status(self, id: str | int) -> SwapStatusV1:
        """As `SwapSDK.get_status`, to be awaited."""
        return await self.call(GetStatus(id))

    async def get_status_v2(self, id: str | int) -> SwapStatus:
        """As `SwapSDK.get_status_v2`, to be awaited."""
        return await self.call(GetStatusV2(id))

    async def request_deposit_address(
        self, src_chain: str, src_asset: str, dest_chain: str, dest_asset: str, dest_address: str,
        amount: int, fill_or_kill_params: FillOrKillParams | None = None, dca_params: DcaParams | None = None,
        max_boost_fee_bps: int | None = None, src_address: str | None = None,
        broker_commission_bps: int | None = None, affiliate_brokers: Sequence[AffiliateBroker] = (),
        ccm_params: CcmParams | None = None,
    ) -> DepositAddress:
        """As `SwapSDK.request_deposit_address`, to be awaited."""
        return await self.call(RequestDepositAddress(
            src_chain, src_asset, dest_chain, dest_asset, dest_address, amount, fill_or_kill_params,
            dca_params, max_boost_fee_bps, src_address, broker_commission_bps, affiliate_brokers, ccm_params,
        ))

    async def request_deposit_address_v2(
        self, quote: Quote, dest_address: str, fill_or_kill_params: FillOrKillParams | None = None,
        src_address: str | None = None, broker_commission_bps: int | None = None,
        affiliate_brokers: Sequence[AffiliateBroker] = (), ccm_params: CcmParams | None = None,
    ) -> DepositAddress:
        """As `SwapSDK.request_deposit_address_v2`, to be awaited."""
        return await self.call(RequestDepositAddressV2(
            quote, dest_address, fill_or_kill_params, src_address, broker_commission_bps, affiliate_brokers,
            ccm_params,
        ))

    async def encode_vault_swap_data(
        self, quote: Quote, dest_address: str, fill_or_kill_params: FillOrKillParams,
        src_address: str | None = None, broker_commission_bps: int | None = None,
        affiliate_brokers: Sequence[AffiliateBroker] = (), ccm_params: CcmParams | None = None,
    ) -> VaultSwapData:
        """As `SwapSDK.encode_vault_swap_data`, to be awaited."""
        return await self.call(EncodeVaultSwapData(
            quote, dest_address, fill_or_kill_params, src_address, broker_commission_bps, affiliate_brokers,
            ccm_params,
        ))

    async def get_chains(self, source_chain: str | None = None) -> tuple[ChainInfo, ...]:
        """As `SwapSDK.get_chains`, to be awaited."""
        return await self.call(GetChains(source_chain))

    async def get_assets(self, chain: str | None = None) -> tuple[AssetInfo, ...]:
        """As `SwapSDK.get_assets`, to be awaited."""
        return await self.call(GetAssets(chain))

    async def get_swap_limits(self) -> SwapLimits:
        """As `SwapSDK.get_swap_limits`, to be awaited."""
        return await self.call(GetSwapLimits())

    async def get_required_block_confirmations(self) -> dict[str, int | None]:
        """As `SwapSDK.get_required_block_confirmations`, to be awaited."""
        return await self.call(GetRequiredBlockConfirmations())

    async def get_channel_opening_fees(self) -> dict[str, int]:
        """As `SwapSDK.get_channel_opening_fees`, to be awaited."""
        return await self.call(GetChannelOpeningFees())

    async def get_boost_liquidity(
        self, fee_tier_bps: int | None = None, chain: str | None = None, asset: str | None = None,
    ) -> tuple[BoostLiquidity, ...]:
        """As `SwapSDK.get_boost_liquidity`, to be awaited."""
        return await self.call(GetBoostLiquidity(fee_tier_bps, chain, asset))

    async def dev_deposit(self, channel: DepositAddress, amount: int | None = None) -> str:
        """As `SwapSDK.dev_deposit`, to be awaited."""
        return await self.call(DevDeposit(channel, amount))
