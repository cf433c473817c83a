"""A chain in the official runtime of genesis (spec 100), with a broker, a liquidity provider and one pool."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.core.chainspec import RawGenesis, parse
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.runtime.genesis_state import GenesisRuntime
from cfnode.runtime.wasm.runtime import wasm_runtime
from tests.process import NodeProcess

ALICE, BOB, CHARLIE = (Keypair.from_suri(f"//{name}") for name in ("Alice", "Bob", "Charlie"))
PRICE: Final = 2 * 2**128
PATIENCE: Final = 60


def prepared(official: Path, folder: Path) -> tuple[Path, Metadata]:
    """Return the spec of the chain (validator Alice, broker Bob, provider Charlie), and its metadata."""
    path = folder / "mine.json"
    arguments = ["build-spec", "--chain", str(official), "--dev-authorities", "//Alice", "-o", str(path)]
    assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    parsed = parse(path.read_bytes(), source=str(path))
    assert isinstance(parsed.genesis, RawGenesis)
    encoded = GenesisRuntime(parsed.genesis, wasm_runtime).call(
        "Metadata_metadata_at_version", (15).to_bytes(4, "little")
    )
    metadata = decode_metadata(ByteCursor(encoded[1:]).bytes())
    _add_accounts(path, metadata)
    return path, metadata


def _add_accounts(path: Path, metadata: Metadata) -> None:
    spec = json.loads(path.read_text())
    top = spec["genesis"]["raw"]["top"]

    def put(pallet: str, item: str, *keys: Any, value: Any) -> None:
        entry = metadata.storage(pallet, item)
        top[f"0x{entry.key(*keys).hex()}"] = f"0x{entry.value.encode(value).hex()}"

    put("AccountRoles", "AccountRoles", BOB.public, value="Broker")
    put("AccountRoles", "AccountRoles", CHARLIE.public, value="LiquidityProvider")
    put("Swapping", "EarnedBrokerFees", BOB.public, "Eth", value=5)
    for asset in ("Eth", "Usdc"):
        put("LiquidityProvider", "FreeBalances", CHARLIE.public, asset, value=10**20)
    for chain, address in (("Ethereum", ("Eth", b"\x11" * 20)), ("Polkadot", ("Dot", b"\x22" * 32))):
        put("LiquidityProvider", "LiquidityRefundAddress", CHARLIE.public, chain, value=address)
    for pallet in ("System", "Flip"):
        entry = metadata.storage(pallet, "Account")
        for who in (BOB, CHARLIE):
            top[f"0x{entry.key(who.public).hex()}"] = top[f"0x{entry.key(ALICE.public).hex()}"]
    path.write_text(json.dumps(spec))


def open_pool(node: NodeProcess, metadata: Metadata) -> None:
    """Have governance open a pool of Eth, and Charlie put a limit and a range order into it."""
    pair = {"base_asset": "Eth", "pair_asset": "Usdc"}
    new = {**pair, "fee_hundredth_pips": 1000, "initial_price": PRICE}
    proposal = {"call": ("LiquidityPools", ("new_pool", new)), "execution": "Automatic"}
    _submit(node, metadata, ALICE, 0, ("Governance", ("propose_governance_extrinsic", proposal)))
    sell = {"sell_asset": "Eth", "buy_asset": "Usdc", "id": 7, "option_tick": 8000, "sell_amount": 10**18}
    _submit(node, metadata, CHARLIE, 0, ("LiquidityPools", ("set_limit_order", sell)))
    size = ("Liquidity", {"liquidity": 10**12})
    span = {**pair, "id": 9, "option_tick_range": {"start": 6000, "end": 7500}, "size": size}
    _submit(node, metadata, CHARLIE, 1, ("LiquidityPools", ("set_range_order", span)))


def _submit(node: NodeProcess, metadata: Metadata, key: Keypair, nonce: int, call: Any) -> None:
    genesis = bytes.fromhex(node.call("chain_getBlockHash", 0)[2:])
    extrinsic = sign_extrinsic(
        metadata, metadata.call_codec.encode(call), key, nonce=nonce, era=IMMORTAL, era_hash=genesis,
        genesis_hash=genesis, spec_version=100, transaction_version=10,
    )  # fmt: skip
    before = _height(node)
    node.call("author_submitExtrinsic", f"0x{extrinsic.hex()}")
    deadline = time.monotonic() + PATIENCE
    while _height(node) == before:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _height(node: NodeProcess) -> int:
    return int(node.call("chain_getHeader")["number"], 16)
