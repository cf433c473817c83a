"""Parameters with which each method can be called, and values of any type of a runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cfnode.core import ss58
from cfnode.core.scale import TypeRegistry
from cfnode.core.scale.types import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Primitive,
    Sequence,
    Tuple,
    Variants,
)

ETH: Final = {"chain": "Ethereum", "asset": "ETH"}
USDC: Final = {"chain": "Ethereum", "asset": "USDC"}
BTC: Final = {"chain": "Bitcoin", "asset": "BTC"}
SOL: Final = {"chain": "Solana", "asset": "SOL"}
ACCOUNT: Final = ss58.encode(bytes(range(32)), 2112)
HASH: Final = "0x" + "12" * 32
TICKS: Final = {"start": -100, "end": 100}
PAIR: Final = [ETH, USDC]

EVM_ADDRESS: Final = "0x" + "11" * 20
REFUND: Final = {"retry_duration": 1, "refund_address": "0x" + "22" * 20, "min_price": "0x1"}
BITCOIN: Final = {"chain": "Bitcoin", "min_output_amount": 5, "retry_duration": 1}
VAULT_SWAP: Final = {"chain": "Bitcoin", "nulldata_payload": "0x01", "deposit_address": "bcrt1q"}

PARAMS: Final[dict[str, list[Any]]] = {
    "cf_generate_gov_key_call_hash": [[0, 1, 2]],
    "cf_max_swap_amount": [ETH],
    "cf_witness_count": [HASH],
    "cf_account_info": [ACCOUNT],
    "cf_account_info_v2": [ACCOUNT],
    "cf_free_balances": [ACCOUNT],
    "cf_lp_total_balances": [ACCOUNT],
    "cf_withdrawal_whitelist": [ACCOUNT],
    "cf_pool_price": PAIR,
    "cf_pool_price_v2": PAIR,
    "cf_swap_rate": [*PAIR, 1000],
    "cf_swap_rate_v2": [*PAIR, "0x3e8"],
    "cf_swap_rate_v3": [*PAIR, "0x3e8", 10],
    "cf_required_asset_ratio_for_range_order": [*PAIR, TICKS],
    "cf_pool_orderbook": [*PAIR, 10],
    "cf_pool_info": PAIR,
    "cf_pool_depth": [*PAIR, TICKS],
    "cf_pool_liquidity": PAIR,
    "cf_pool_orders": PAIR,
    "cf_pool_range_order_liquidity_value": [*PAIR, TICKS, 1000],
    "cf_scheduled_swaps": PAIR,
    "cf_validate_dca_params": [2, 2],
    "cf_validate_refund_params": [*PAIR, 10],
    "cf_get_affiliates": [ACCOUNT],
    "cf_failed_call_ethereum": [1],
    "cf_failed_call_arbitrum": [1],
    "cf_failed_call_tron": [1],
    "cf_failed_call_bsc": [1],
    "cf_reward_distribution_estimate": [],
    "cf_request_swap_parameter_encoding": [ACCOUNT, BTC, USDC, EVM_ADDRESS, 10, BITCOIN],
    "cf_decode_vault_swap_parameter": [ACCOUNT, VAULT_SWAP],
    "cf_encode_cf_parameters": [ACCOUNT, ETH, USDC, EVM_ADDRESS, 10, REFUND],
    "cf_ingress_egress_events": ["Ethereum"],
    "cf_evm_calldata": [EVM_ADDRESS, {"API": "Delegation", "call": {"Undelegate": {"decrease": "Max"}}}],
    "cf_encode_non_native_call": ["0x000000", 100, 0, {"Eth": "Eip712"}],
    "cf_monitoring_accounts_info": [[ACCOUNT]],
    **{
        f"cf_{chain}_electoral_data": [ACCOUNT]
        for chain in ("solana", "bitcoin", "ethereum", "arbitrum", "tron", "bsc", "assethub", "generic")
    },
    **{
        f"cf_{chain}_filter_votes": [ACCOUNT, [0, 1]]
        for chain in ("solana", "bitcoin", "ethereum", "arbitrum", "tron", "bsc", "assethub", "generic")
    },
}
"""By method, without those that take none."""

AMOUNT: Final = 10**21


class Sampler:
    """Values of the types of one runtime: every option filled, every list with one entry.

    `cases` names the variant of an enum to take, by the enum's name; else it is the first one with fields.
    """

    def __init__(self, registry: TypeRegistry, cases: Mapping[str, str] | None = None) -> None:
        self.registry = registry
        self.cases = {"Option": "Some", "MinimizedScaleValue": "Primitive", **(cases or {})}

    def value(self, type_id: int) -> Any:
        """Return one value, in the mapping of the codec."""
        row = self.registry.type(type_id)
        match row.definition:
            case Primitive(name):
                return {"bool": True, "str": "text", "u128": AMOUNT}.get(name, 7)
            case Compact(inner):
                return self.value(inner)
            case Sequence(inner):
                inner_value = self.value(inner)
                return (
                    bytes([1, 2, 3])
                    if self._is_byte(inner)
                    else self._by_chain(inner, inner_value) or [inner_value]
                )
            case Array(length, inner):
                return b"\x11" * length if self._is_byte(inner) else [self.value(inner)] * length
            case Tuple(parts):
                return tuple(self.value(part) for part in parts)
            case Composite(fields):
                if row.path[-1:] == ("U256",):
                    return AMOUNT
                return self._fields(fields)
            case Variants(variants):
                wanted = self.cases.get(row.path[-1])
                chosen = next(
                    (case for case in variants if case.name == wanted),
                    next((case for case in variants if case.fields), variants[0]),
                )
                payload = self._fields(chosen.fields)
                if row.path == ("Option",):
                    return payload
                return (chosen.name, payload) if chosen.fields else chosen.name
            case BitSequence():
                return [True]

    def _by_chain(self, inner: int, sample: Any) -> list[Any]:
        """Return a pair for each chain, with None for all but one; empty if the type is not by chain."""
        definition = self.registry.type(inner).definition
        parts = [self.registry.type(part) for part in getattr(definition, "types", ())]
        if [part.path[-1:] for part in parts] != [("ForeignChain",), ("Option",)]:
            return []
        chains = parts[0].definition
        assert isinstance(chains, Variants)
        return [sample, *((case.name, None) for case in chains.variants if case.name != sample[0])]

    def _is_byte(self, type_id: int) -> bool:
        return self.registry.type(type_id).definition == Primitive("u8")

    def _fields(self, fields: Any) -> Any:
        if fields and fields[0].name is not None:
            return {field.name: self.value(field.type) for field in fields}
        values = tuple(self.value(field.type) for field in fields)
        return values[0] if len(values) == 1 else values
