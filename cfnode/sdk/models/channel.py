"""Answer of a deposit-address request: the address, the request's arguments, and the expiry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.sdk.models.request import AffiliateBroker, CcmParams, DcaParams, FillOrKillParams
from cfnode.sdk.names import AssetSymbol, ChainName
from cfnode.sdk.record import Amount, Record

__all__ = ["DepositAddress"]


@dataclass(frozen=True)
class DepositAddress(Record):
    """An open deposit channel.

    `deposit_channel_id` is `<State Chain block>-<source chain>-<index>`. `deposit_channel_expiry_block`
    counts the source chain's blocks; `estimated_deposit_channel_expiry_time` is milliseconds since 1970, the
    service's estimate or the SDK's. `channel_opening_fee` is the broker's fee in FLIP base units.
    """

    src_chain: ChainName
    src_asset: AssetSymbol
    dest_chain: ChainName
    dest_asset: AssetSymbol
    dest_address: str
    amount: Amount
    deposit_channel_id: str
    deposit_address: str
    broker_commission_bps: int
    max_boost_fee_bps: int
    deposit_channel_expiry_block: int
    estimated_deposit_channel_expiry_time: int
    channel_opening_fee: int
    affiliate_brokers: tuple[AffiliateBroker, ...] = ()
    src_address: str | None = None
    fill_or_kill_params: FillOrKillParams | None = None
    dca_params: DcaParams | None = None
    ccm_params: CcmParams | None = None

    @property
    def deposit_channel_broker_commission_bps(self) -> int:
        """The commission under its name in the status of a swap."""
        return self.broker_commission_bps

    @property
    def deposit_channel_affiliate_brokers(self) -> tuple[AffiliateBroker, ...]:
        """The affiliates under their name in the status of a swap."""
        return self.affiliate_brokers

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, with the two names that a status has in addition."""
        document = super().to_json()
        return document | {
            "depositChannelBrokerCommissionBps": document["brokerCommissionBps"],
            "depositChannelAffiliateBrokers": document["affiliateBrokers"],
        }
