"""The `cf_controlled_*` methods: the chain's vaults and deposit addresses on foreign chains."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.addresses import EncodedAddress, address_to_text, chain_of_address
from cfnode.core.chain_time import DEVELOPMENT
from cfnode.rpc.cf.method import custom, value
from cfnode.rpc.cf.params import CHAIN_PARAM
from cfnode.rpc.cf.updates import block_update
from cfnode.rpc.table.blocks import block_asked
from cfnode.rpc.table.convert import BOOL, account
from cfnode.rpc.table.rows import Param

if TYPE_CHECKING:
    from cfnode.core.header import Header
    from cfnode.node.node import Node

ByChain = dict[str, list[Any]]

NANOSECONDS: Final = 10**9
"""Nanoseconds of a second."""


async def deposit_addresses(node: Node, chain: str | None, at: bytes | None) -> ByChain:
    """Return the addresses of the open deposit channels, by chain."""
    open_channels = await value(node, block_asked(node, at), "cf_all_open_deposit_channels")
    addresses: ByChain = {}
    for _, _, accounts in open_channels:
        for address, _ in accounts["chain_accounts"]:
            addresses.setdefault(chain_of_address(address), []).append(address_to_text(address))
    return {name: addresses[name] for name in addresses if chain in (None, name)}


@dataclass(frozen=True, slots=True)
class _Vault:
    """The description of an address; a rotating one is derived from the aggregate key of an epoch."""

    name: str
    explanation: str
    rotates: bool = False


def _contract(chain: str, coin: str) -> _Vault:
    explanation = f"The contract that holds {coin} and the tokens on {chain}; it also receives vault swaps."
    return _Vault(f"{chain.lower()}_vault_contract", explanation)


def _solana_tokens(asset: str) -> _Vault:
    explanation = f"Holds {asset} on Solana; it also receives vault swaps of {asset}."
    return _Vault(f"solana_{asset.lower()}_vault", explanation)


_VAULTS: Final = {
    "arbitrum": _contract("Arbitrum", "ETH"),
    "ethereum": _contract("Ethereum", "ETH"),
    "solana_sol_vault": _Vault("solana_sol_vault", "Holds SOL on Solana.", rotates=True),
    "solana_usdc_token_vault_ata": _solana_tokens("USDC"),
    "solana_usdt_token_vault_ata": _solana_tokens("USDT"),
    "solana_vault_swap_account": _Vault(
        "solana_sol_vault_swap_account", "Receives vault swaps of SOL until they are fetched into the vault."
    ),
    "bitcoin_vault": _Vault("bitcoin_vault", "Holds BTC on Bitcoin.", rotates=True),
    "tron": _contract("Tron", "TRX"),
    "bsc": _contract("Bsc", "BNB"),
}
"""Descriptions by member of the runtime's `VaultAddresses`.

Members missing here (programs, tokens) hold no funds.
"""


def _of_broker(broker: bytes) -> _Vault:
    explanation = "Receives vault swaps of BTC for one broker until they are fetched into the vault."
    return _Vault(f"bitcoin_vault_swap_address_for_broker_{account(broker)}", explanation, rotates=True)


async def vault_addresses(node: Node, chain: str | None, compact: bool | None, at: bytes | None) -> ByChain:
    """Return the addresses that hold funds, by chain, and the expected change of those of this epoch's keys.

    A compact reply omits the explanations.
    """
    block = block_asked(node, at)
    vaults = await value(node, block, "cf_vault_addresses")
    header = node.chain.header(block)
    assert header is not None  # its state has been queried
    remaining_s = vaults["predicted_seconds_until_next_vault_rotation"]
    rotation_time = clock_text(_now_ns(node, header, block) + remaining_s * NANOSECONDS)
    entries: ByChain = {"Solana": [], "Bitcoin": []}  # the answer has them even without vaults
    for vault, address in _named(vaults):
        explanations = (
            {} if compact else {"explanation": vault.explanation, "rotation_policy": _policy(vault)}
        )
        entries.setdefault(chain_of_address(address), []).append(
            {
                "name": vault.name,
                "address": address_to_text(address),
                **explanations,
                "next_predicted_rotation": rotation_time if vault.rotates else None,
            }
        )
    return {name: entries[name] for name in entries if chain in (None, name)}


def _now_ns(node: Node, header: Header, block: bytes) -> int:
    """Return the time in Unix nanoseconds: the clock's, on a development chain that of the block."""
    if node.spec.chain_type != DEVELOPMENT:
        return time.time_ns()
    seconds: int = block_update(header, block)["timestamp"]
    return seconds * NANOSECONDS


def clock_text(unix_ns: int) -> str:
    """Return a time as the official node prints it: with 0, 3, 6 or 9 digits of a second's fraction."""
    seconds, fraction = divmod(unix_ns, NANOSECONDS)
    digits = f"{fraction:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{whole}.{digits} UTC" if digits else f"{whole} UTC"


def _policy(vault: _Vault) -> str:
    return "Every 3 days" if vault.rotates else "Never"


def _named(vaults: dict[str, Any]) -> Iterator[tuple[_Vault, EncodedAddress]]:
    for member, vault in _VAULTS.items():
        if vaults.get(member) is not None:
            yield vault, vaults[member]
    for broker, address in vaults["bitcoin"]:
        yield _of_broker(broker), address


_SOME_CHAIN: Final = Param("chain", CHAIN_PARAM.reader, optional=True)

METHODS: Final = (
    custom("cf_controlled_deposit_addresses", deposit_addresses, _SOME_CHAIN),
    custom(
        "cf_controlled_vault_addresses",
        vault_addresses,
        _SOME_CHAIN,
        Param("compact_reply", BOOL, optional=True),
    ),
)
