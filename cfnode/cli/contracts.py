"""Flags for the contracts on the EVM chains of a development chain.

    --dev-evm-vault, --dev-evm-key-manager, --dev-evm-chain-id      Ethereum
    --dev-arb-vault, …                                              Arbitrum
    --dev-tron-vault, …                                             Tron
    --dev-bsc-vault, …                                              BSC, from runtime 2.3.0 on

A test bed with contracts of its own sets their addresses: the aggregate key signs them, so they are part of
genesis, and other values make another chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.values import WholeNumber
from cfnode.core.assets import CHAINS, chains_of

if TYPE_CHECKING:
    from cfnode.devchain.config import EvmContracts

__all__ = ["contract_flags", "contracts"]

ADDRESS_BYTES = 20
PREFIXES = {
    "evm" if chain == "Ethereum" else CHAINS[chain].address.lower(): chain
    for chain in chains_of("evm", "tron")
}
"""The EVM chains, by the prefix of their flags."""
_SPELLED = {"Bsc": "BSC"}


class EvmAddress(click.ParamType[bytes]):
    """Address of an EVM contract: `0x` and 40 hexadecimal digits in any case."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the 20 bytes of the address."""
        if isinstance(value, bytes):
            return value
        digits = str(value).removeprefix("0x")
        try:
            address = bytes.fromhex(digits)
        except ValueError:
            address = b""
        if len(address) != ADDRESS_BYTES or len(digits) != 2 * ADDRESS_BYTES or not any(address):
            self.fail(
                f"{value!r} is not an address: give 0x and 40 hexadecimal digits, not all zero", param, ctx
            )
        return address


def _flags() -> list[tuple[str, dict[str, Any]]]:
    """Return the names and properties of the flags."""
    flags: list[tuple[str, dict[str, Any]]] = []
    for prefix, name in PREFIXES.items():
        chain = _SPELLED.get(name, name)
        flags += [
            (f"--dev-{prefix}-vault", {"type": EvmAddress(), "help": f"Vault contract on {chain}."}),
            (f"--dev-{prefix}-key-manager", {"type": EvmAddress(), "help": f"Key manager on {chain}."}),
            (
                f"--dev-{prefix}-chain-id",
                {"type": WholeNumber(1, 2**64 - 1), "help": f"Chain id of {chain}.", "metavar": "N"},
            ),
        ]
    return flags


def contract_flags(option: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return the flags, built by `option` (such as `click.option`)."""
    return [option(name, **properties) for name, properties in _flags()]


def contracts(options: Mapping[str, Any]) -> dict[str, EvmContracts]:
    """Return the values of the flags by chain; a missing one is None."""
    from cfnode.devchain.config import EvmContracts

    def of(prefix: str) -> EvmContracts:
        names = ("vault", "key_manager", "chain_id")
        return EvmContracts(**{name: options[f"dev_{prefix}_{name}"] for name in names})

    return {chain: of(prefix) for prefix, chain in PREFIXES.items()}
