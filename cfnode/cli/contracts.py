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

if TYPE_CHECKING:
    from cfnode.devchain.config import ContractsConfig

__all__ = ["contract_flags", "contracts"]

ADDRESS_BYTES = 20
PREFIXES = {"evm": "Ethereum", "arb": "Arbitrum", "tron": "Tron", "bsc": "BSC"}


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
    for prefix, chain in PREFIXES.items():
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


def contracts(options: Mapping[str, Any]) -> ContractsConfig:
    """Return the values of the flags; a missing one is None."""
    from cfnode.devchain.config import ContractsConfig, EvmContracts

    def of(prefix: str) -> EvmContracts:
        names = ("vault", "key_manager", "chain_id")
        return EvmContracts(**{name: options[f"dev_{prefix}_{name}"] for name in names})

    return ContractsConfig(ethereum=of("evm"), arbitrum=of("arb"), tron=of("tron"), bsc=of("bsc"))
