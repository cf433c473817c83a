"""The `cf_*` methods of the chain as a whole: contracts, epochs, the FLIP supply, validators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.rpc.cf.method import Arguments, custom, method
from cfnode.rpc.cf.params import BYTE_NUMBERS
from cfnode.rpc.table.broker_params import ASSET, write_asset
from cfnode.rpc.table.convert import ACCOUNT, HASH, U32
from cfnode.rpc.table.rows import Method, Param
from cfnode.rpc.table.runtime_names import names_at

if TYPE_CHECKING:
    from cfnode.node.node import Node

FEE_MULTIPLIER: Final = 10_000
"""The factor between weight units and FLIP: a constant of the chain's fee."""


def _bare_hex(result: str, arguments: Arguments) -> str:
    return result.removeprefix("0x")


def _vault(result: list[Any], arguments: Arguments) -> list[Any]:
    key, first_block = result
    return [bytes(key).hex(), first_block]


def _names(result: list[Any], arguments: Arguments) -> list[Any]:
    return [[account, bytes(name).decode("utf-8", "replace")] for account, name in result]


def fee_multiplier(node: Node, at: bytes | None) -> int:
    """Return the price of a unit of weight, a constant."""
    return FEE_MULTIPLIER


async def supported_assets(node: Node) -> list[dict[str, str]]:
    """Return every asset that the runtime of the best block knows."""
    return [write_asset(name) for name in (await names_at(node, node.chain.best.hash)).assets]


METHODS: Final = (
    method("cf_is_auction_phase", "Whether an auction for the next epoch is running."),
    method(
        "cf_eth_key_manager_address",
        "The contract on Ethereum that checks the authorities' signatures, hex without 0x.",
        reshape=_bare_hex,
    ),
    method(
        "cf_eth_state_chain_gateway_address",
        "The contract on Ethereum that funds accounts, hex without 0x.",
        reshape=_bare_hex,
    ),
    method("cf_eth_flip_token_address", "The FLIP token's contract, hex without 0x.", reshape=_bare_hex),
    method("cf_eth_chain_id", "Ethereum's chain id."),
    method(
        "cf_eth_vault",
        "The aggregate key, hex without 0x, and the block from which it is valid.",
        reshape=_vault,
    ),
    Method("cf_tx_fee_multiplier", fee_multiplier, params=(Param("at", HASH, optional=True),)),
    method("cf_auction_parameters", "The minimum and the maximum number of authorities."),
    method("cf_min_funding", "The minimum FLIP balance that an account may be left with."),
    method("cf_current_epoch", "The number of the epoch."),
    method("cf_epoch_duration", "The length of an epoch in blocks."),
    method("cf_current_epoch_started_at", "The first block of the current epoch."),
    method("cf_authority_emission_per_block", "FLIP that the authorities earn for a block."),
    method("cf_backup_emission_per_block", "FLIP that the backup validators earn for a block."),
    method("cf_flip_supply", "The total FLIP supply, and the part of it that is not on the State Chain."),
    method("cf_accounts", "All accounts and their vanity names.", reshape=_names),
    method("cf_penalties", "The penalty for each offence of a validator."),
    method(
        "cf_suspensions", "The suspended validators by offence, each with the last block of its suspension."
    ),
    method(
        "cf_generate_gov_key_call_hash",
        "The hash of a call that the governance key signs.",
        params=(Param("call", BYTE_NUMBERS),),
    ),
    method("cf_auction_state", "The parameters of the next auction."),
    method(
        "cf_active_delegations",
        "The active delegations by operator.",
        params=(Param("operator", ACCOUNT, optional=True),),
        names={"operator": "account"},
    ),
    method("cf_reward_distribution_estimate", "The estimated rewards of this epoch's authorities."),
    method("cf_current_compatibility_version", "The release that the chain requires.", at=False),
    custom("cf_supported_assets", supported_assets, at=False),
    method(
        "cf_max_swap_amount",
        "The largest amount of one chunk, or null.",
        params=(Param("asset", ASSET),),
        plain_numbers=True,
        at=False,
    ),
    method(
        "cf_witness_count",
        "The number of authorities that have not witnessed a call, and which.",
        params=(Param("hash", HASH), Param("epoch_index", U32, optional=True)),
    ),
    method("cf_safe_mode_statuses", "The functions that safe mode has switched off."),
)
