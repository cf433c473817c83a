"""The flags that state contracts of the EVM chains: each makes another genesis."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from cfnode.cli.chain import export_chain_spec
from cfnode.core.hashing import twox_128

VAULT = "0x0b" + "0B" * 19


def spec(*arguments: str) -> dict[str, object]:
    done = CliRunner().invoke(export_chain_spec, ["--dev", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def in_state(exported: dict[str, object], item: str) -> str:
    """A value of the Environment pallet in a raw specification."""
    key = "0x" + (twox_128(b"Environment") + twox_128(item.encode())).hex()
    genesis = exported["genesis"]
    assert isinstance(genesis, dict)
    value: str = genesis["raw"]["top"][key]
    return value


@pytest.mark.parametrize(
    ("flag", "value", "item", "stored"),
    [
        ("--dev-evm-vault", VAULT, "EthereumVaultAddress", "0x" + "0b" * 20),
        ("--dev-evm-key-manager", "0b" * 20, "EthereumKeyManagerAddress", "0x" + "0b" * 20),
        ("--dev-evm-chain-id", "31337", "EthereumChainId", "0x697a000000000000"),
        ("--dev-arb-vault", VAULT, "ArbitrumVaultAddress", "0x" + "0b" * 20),
        ("--dev-arb-chain-id", "5", "ArbitrumChainId", "0x0500000000000000"),
        ("--dev-tron-key-manager", VAULT, "TronKeyManagerAddress", "0x" + "0b" * 20),
    ],
)
def test_each_flag_is_in_the_genesis_of_a_chain_of_its_own(
    flag: str, value: str, item: str, stored: str
) -> None:
    exported = spec(flag, value)
    assert in_state(exported, item) == stored
    assert str(exported["id"]).startswith("dev-")


def test_the_usual_contracts_are_those_of_dev() -> None:
    assert spec("--dev-evm-chain-id", "10997")["id"] == "dev"


@pytest.mark.parametrize(
    "wrong", ["0x", "0x12", "vault", "0x" + "0b" * 21, "0x" + "00" * 20, " " + "0b" * 20]
)
def test_what_is_no_address_is_refused(wrong: str) -> None:
    done = CliRunner().invoke(export_chain_spec, ["--dev", "--dev-evm-vault", wrong])
    assert done.exit_code == 2
    assert "0x and 40 hexadecimal digits" in done.stderr
