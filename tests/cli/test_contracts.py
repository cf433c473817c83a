"""The flags that state contracts of the EVM chains: each makes another genesis."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from cfnode.cli.chain import export_chain_spec
from cfnode.core import schnorr
from cfnode.core.addresses import evm
from cfnode.core.assets import CHAINS
from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import NATIVE_TOKEN, ReplayProtection, TransferParams, transfer_fallback
from cfnode.devchain.runtime.chains import ASSET_TERMS
from cfnode.devchain.runtime.config import CONTRACTS, DevGenesis, EvmAddresses
from tests.devchain.runtime.broker import address_on, request
from tests.devchain.runtime.swapper import BITCOIN, Swapper

ARBITRUM = CONTRACTS["Arbitrum"]
BSC = CONTRACTS["Bsc"]
ETHEREUM = CONTRACTS["Ethereum"]
TRON = CONTRACTS["Tron"]
VAULT = "0x0b" + "0B" * 19


def spec(*arguments: str) -> dict[str, object]:
    """Return the specification that the development chain's flags make."""
    done = CliRunner().invoke(export_chain_spec, ["--dev", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    document: dict[str, object] = json.loads(done.stdout)
    return document


OWN = bytes.fromhex("0b" * 20)
FAILING = {"Ethereum": "Eth", "Arbitrum": "ArbUsdc", "Tron": "TrxUsdt"}
"""A transfer that has a fallback when it fails, by chain; on Tron coins have none."""
ROWS = [
    (f"--dev-{prefix}-{flag}", chain, field, "31337" if field == "chain_id" else VAULT)
    for prefix, chain in (("evm", "Ethereum"), ("arb", "Arbitrum"), ("tron", "Tron"))
    for flag, field in (("vault", "vault"), ("key-manager", "key_manager"), ("chain-id", "chain_id"))
]
INIT_CODE_HASH = {
    "Eth": "e90bf83533981276d50deaebb5f14dd57d3ab72c3a030e66b023bce46f259f4c",
    "ArbUsdc": "2f30284886514030c4f1ce01820717261baea6b3fddc48be7b0f67bb5a4296cf",
    "TrxUsdt": "dd94910e53d341aa832a54188ec00b55b04d28a4fc0f613a67a80d43a7793077",
}
USUAL = {"Ethereum": ETHEREUM, "Arbitrum": ARBITRUM, "Tron": TRON}


def stated(chain: str, field: str) -> EvmAddresses:
    """Return the contracts of a chain, one of them as the flag of `ROWS` states it."""
    value = 31_337 if field == "chain_id" else OWN
    return replace(USUAL[chain], **{field: value})


def offered_fallback(broker: Swapper, chain: str) -> tuple[Any, Any]:
    """Return the payload that is offered after a failed transfer, and the event that asked for it."""
    asset = FAILING[chain]
    assert broker.dev("fail_receiver", address=address_on(chain), asset=asset, fails=True) == "Ok"
    broker.deposit("Btc", asset, BITCOIN)
    broker.blocks(4)
    requested = broker.event("TransferFallbackRequested")
    broker.blocks(1)
    function = f"CustomRuntimeApi_cf_failed_call_{chain.lower()}"
    return broker.world.api(function, requested["broadcast_id"]), requested


@pytest.mark.parametrize(("flag", "chain", "field", "value"), ROWS)
def test_contract_flags_change_genesis_answers_addresses_and_signatures(
    flag: str, chain: str, field: str, value: str
) -> None:
    """Derive genesis, answers, deposit addresses and signatures from the contract that a flag states."""
    contracts = stated(chain, field)
    broker = Swapper(config=DevGenesis(contracts=((chain, contracts),)))
    assert spec(flag, value)["id"] == f"dev-{broker.world.genesis_hash.hex()[:8]}"
    addresses = broker.world.api("CustomRuntimeApi_cf_vault_addresses")
    assert addresses[chain.lower()] == (CHAINS[chain].address, contracts.vault)
    for item, stored in (("KeyManagerAddress", contracts.key_manager), ("ChainId", contracts.chain_id)):
        assert broker.world.stored("Environment", f"{chain}{item}") == stored
    if chain == "Ethereum":
        assert broker.world.api("CustomRuntimeApi_cf_eth_key_manager_address") == contracts.key_manager
        assert broker.world.api("CustomRuntimeApi_cf_eth_chain_id") == contracts.chain_id

    source = FAILING[chain]
    said = broker.opened(**request(source, "Btc"))
    init_code = bytes.fromhex(INIT_CODE_HASH[source])
    expected = evm.deposit_address(chain, contracts.vault, said["channel_id"], init_code)
    assert said["deposit_address"][1] == expected

    offered, requested = offered_fallback(broker, chain)
    assert offered["contract"] == contracts.vault
    assert offered.get("chain_id", contracts.chain_id) == contracts.chain_id
    nonce = int.from_bytes(offered["data"][36:68], "big")
    transfer = TransferParams(
        ASSET_TERMS[FAILING[chain]].token or NATIVE_TOKEN, address_on(chain)[1], requested["amount"]
    )
    protection = ReplayProtection(nonce, contracts.chain_id, contracts.key_manager, contracts.vault)
    signature = Signature(offered["data"][4:36], offered["data"][80:100])
    public, _ = broker.world.api("CustomRuntimeApi_cf_eth_vault")
    assert schnorr.verify(public, transfer_fallback(transfer).message_hash(protection), signature)
    elsewhere = replace(protection, chain_id=protection.chain_id + 1)
    assert not schnorr.verify(public, transfer_fallback(transfer).message_hash(elsewhere), signature)


def test_the_contracts_on_bsc_are_those_of_a_release_that_has_it() -> None:
    """Derive addresses on Bsc from its flags, in a release that knows the chain."""
    own = replace(BSC, vault=OWN, chain_id=31_337)
    broker = Swapper(config=DevGenesis(release="2.3.0", contracts=(("Bsc", own),)))
    flags = ("--dev-runtime", "2.3.0", "--dev-bsc-vault", VAULT, "--dev-bsc-chain-id", "31337")
    assert spec(*flags)["id"] == f"dev-{broker.world.genesis_hash.hex()[:8]}"
    assert broker.world.api("CustomRuntimeApi_cf_vault_addresses")["bsc"] == ("Bsc", OWN)
    assert broker.world.stored("Environment", "BscChainId") == 31_337
    opened = broker.opened(**request("BscUsdt", "Btc"))
    init_code = evm.INIT_CODE_HASHES["BscUsdt"]
    address = evm.deposit_address("Bsc", OWN, opened["channel_id"], init_code)
    assert opened["deposit_address"] == ("Bsc", address)


def test_the_usual_contracts_are_those_of_dev() -> None:
    """Keep the id `dev` where a flag states the usual contract."""
    assert spec("--dev-evm-chain-id", "10997")["id"] == "dev"


@pytest.mark.parametrize("wrong", ["0", "-1", "0x7a69", "mainnet", str(2**64)])
@pytest.mark.parametrize("prefix", ["evm", "arb", "tron", "bsc"])
def test_an_invalid_chain_id_is_refused(prefix: str, wrong: str) -> None:
    """Refuse a chain id that is not decimal or not of 1 to 64 bits, and name the flag."""
    done = CliRunner().invoke(export_chain_spec, ["--dev", f"--dev-{prefix}-chain-id", wrong])
    assert done.exit_code == 2
    assert wrong in done.stderr
    assert f"--dev-{prefix}-chain-id" in done.stderr


@pytest.mark.parametrize(
    "wrong", ["0x", "0x12", "vault", "0x" + "0b" * 21, "0x" + "00" * 20, " " + "0b" * 20]
)
def test_what_is_no_address_is_refused(wrong: str) -> None:
    """Refuse a contract that is not 20 bytes in hexadecimal, or is the zero address."""
    done = CliRunner().invoke(export_chain_spec, ["--dev", "--dev-evm-vault", wrong])
    assert done.exit_code == 2
    assert "0x and 40 hexadecimal digits" in done.stderr
