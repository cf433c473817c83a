"""Every cf_* answer has the members and the value forms of the official node.

The rows are asked on a chain that answers each runtime API of the real metadata (runtime 2.2.3) with a value
of its type; what they make of it is compared, member by member, with serialisations of the official node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cfnode.core import jsonrpc
from cfnode.core.assets import CHAINS
from cfnode.core.hashing import twox_128
from cfnode.core.header import Header
from cfnode.core.jsonrpc import RpcError
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.scale.types import Variants
from cfnode.node.runtime_api import ApiMissing
from cfnode.node.runtime_info import RuntimeInfo, RuntimeVersion
from cfnode.rpc.cf import controlled, witnessed
from cfnode.rpc.cf.json_overrides import vanity_name
from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.table import Method
from tests.conftest import shared
from tests.rpc.samples import ACCOUNT, AMOUNT, BTC, ETH, PARAMS, SOL, USDC, Sampler

METHODS = [row for row in (*CF, *MONITORING) if isinstance(row, Method)]
ROWS = {name: row for row in METHODS for name in (row.name, *row.aliases)}
VERSION = RuntimeVersion("chainflip-node", "chainflip-node", 1, 20203, 1, (), 13, 1)
BLOCK = b"\x01" * 32
AFFILIATE = b"\x03" * 32

NEWER = {
    # members that runtime 2.3 added
    "bsc", "bsc_events", "broadcast_bsc", "ingress_egress_bsc", "bsc_elections", "bid", "max_bid",
    "flip_to_on_chain_balance_enabled", "Bsc", "CBBTC",
}  # fmt: skip
OLDER = {"owed_to_network", *CHAINS}
"""Members that it dropped; and chains in a map that an example has only in part."""


class Queries:
    """Answers every runtime API with a sample."""

    def __init__(self, metadata: Metadata, cases: Mapping[str, str]) -> None:
        self.metadata = metadata
        self.sampler = Sampler(metadata.registry, cases)

    async def call_all(self, at: bytes, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        """The SCALE outputs; the arguments have to be those of the API."""
        return [self._output(*call) for call in calls]

    def _output(self, function: str, arguments: bytes) -> bytes:
        method = self.metadata.api_method(function)
        method.decode_args(arguments)
        return method.output.encode(self.sampler.value(method.method.output))


class Chain:
    """A chain of one block of the runtime."""

    def __init__(self, metadata: Metadata, cases: Mapping[str, str]) -> None:
        self.queries = Queries(metadata, cases)
        self.genesis_hash = json.dumps(dict(cases)).encode()
        self.best = self.finalized = SimpleNamespace(hash=BLOCK, number=1)
        self.states = SimpleNamespace(read=self.read, remote_for=lambda block_hash: None)
        self.info = RuntimeInfo(b"\x02" * 32, VERSION, metadata, b"")

    @contextmanager
    def state(self, block_hash: bytes) -> Iterator[Any]:
        """Storage in which every item that is asked for is there: broadcasts, and accounts of Swapping."""
        broadcast = (7).to_bytes(4, "little") + (9).to_bytes(8, "little")
        held = {b"Swapping": AFFILIATE, b"AssethubBroadcaster": broadcast[:8]}
        values = {twox_128(pallet): each for pallet, each in held.items()}
        yield SimpleNamespace(get=lambda key: values.get(key[:16], broadcast))

    async def read(self, block_hash: bytes, walk: Any, *_: Any) -> Any:
        """What is read of that storage."""
        with self.state(block_hash) as state:
            return walk(state)

    def header(self, block_hash: bytes) -> Any:
        """The header of genesis, before which nothing was."""
        return Header(bytes(32), 0, bytes(32), bytes(32), ())

    async def runtime_at(self, block_hash: bytes) -> RuntimeInfo:
        """The one runtime."""
        return self.info


@pytest.fixture(scope="session")
def metadata(metadata_v15: bytes) -> Metadata:
    return decode_metadata(metadata_v15)


async def ask(metadata: Metadata, name: str, *params: Any, **cases: str) -> Any:
    """The answer of a row as JSON has it."""
    node: Any = SimpleNamespace(chain=Chain(metadata, cases))
    row = ROWS[name]
    answer = (
        await row.handler(node, *row.bind(list(params)))
        if row.is_async
        else row.handler(node, *row.bind(list(params)))
    )
    return json.loads(bytes(answer)) if isinstance(answer, msgspec.Raw) else answer


def example(name: str) -> Any:
    """A serialisation of the official node."""
    return json.loads(shared("rpc-examples", f"{name}.json").read_text())


def form(value: Any) -> str:
    """What kind of scalar it is."""
    if isinstance(value, str):
        return "hex" if re.fullmatch(r"0x[0-9a-f]*", value) else "text"
    return {bool: "bool", int: "number", type(None): "null"}[type(value)]


def differences(ours: Any, theirs: Any, path: str, loose: bool) -> list[str]:
    """Where the shapes differ. `loose`: the example prints amounts as numbers that a node prints as hex."""
    if ours is None or theirs is None:
        return []
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if all(len(key) > 40 for key in theirs):  # by account or address
            theirs, ours = {"*": next(iter(theirs.values()))}, {"*": next(iter(ours.values()))}
        if len(ours) == len(theirs) == 1 and next(iter(theirs)).istitle():  # a tagged enum
            theirs, ours = {"*": next(iter(theirs.values()))}, {"*": next(iter(ours.values()))}
        missing = theirs.keys() - ours.keys() - NEWER
        found = [f"{path}.{key} is missing" for key in sorted(missing)]
        found += [f"{path}.{key} is not theirs" for key in sorted(ours.keys() - theirs.keys() - OLDER)]
        for key in ours.keys() & theirs.keys():
            found += differences(ours[key], theirs[key], f"{path}.{key}", loose)
        return found
    if isinstance(theirs, list) and isinstance(ours, list):
        pairs = zip(ours, theirs, strict=False)
        return [line for mine, other in pairs for line in differences(mine, other, f"{path}[]", loose)]
    if isinstance(theirs, (dict, list)) or isinstance(ours, (dict, list)):
        return [f"{path}: {ours!r} against {theirs!r}"]
    pair = form(ours), form(theirs)
    if pair[0] == pair[1] or (loose and pair == ("hex", "number")):
        return []
    return [f"{path}: {pair[0]} ({ours!r}) against {pair[1]} ({theirs!r})"]


Case = tuple[str, list[Any], dict[str, str]]
"""Method, parameters, and variants (by enum) with which the runtime answers."""

CASES: dict[str, Case] = {
    name: (name, PARAMS.get(name, []), {})
    for name in (
        "cf_all_account_infos", "cf_all_open_deposit_channels", "cf_asset_balances", "cf_auction_state",
        "cf_boost_pool_details", "cf_boost_pool_pending_fees", "cf_boost_pools_depth",
        "cf_current_compatibility_version", "cf_environment", "cf_failed_call_arbitrum",
        "cf_failed_call_ethereum", "cf_free_balances", "cf_funding_environment",
        "cf_get_open_deposit_channels", "cf_get_trading_strategies", "cf_get_trading_strategy_limits",
        "cf_get_vault_addresses", "cf_ingress_egress_environment", "cf_lending_config",
        "cf_lending_pool_supply_balances", "cf_lending_pools", "cf_loan_accounts", "cf_lp_total_balances",
        "cf_pool_depth", "cf_pool_info", "cf_pool_liquidity", "cf_pool_orderbook", "cf_pool_orders",
        "cf_pool_price", "cf_pool_price_v2", "cf_pool_range_order_liquidity_value", "cf_pools_environment",
        "cf_required_asset_ratio_for_range_order", "cf_safe_mode_statuses", "cf_scheduled_swaps",
        "cf_suspensions", "cf_swap_rate", "cf_swap_rate_v2", "cf_swap_rate_v3", "cf_swapping_environment",
        "cf_witness_count", "lp_total_balances",
    )
}  # fmt: skip
CASES["lp_total_balances"] = ("lp_total_balances", [ACCOUNT], {})
CASES["cf_asset_balances"] = ("cf_asset_balances", [ACCOUNT], {})
CASES["cf_all_account_infos"] = ("cf_all_account_infos", [], {"RuntimeApiAccountInfo": "Validator"})
CASES["cf_safe_mode_statuses"] = ("cf_safe_mode_statuses", [], {"PalletSafeMode": "CodeGreen"})
CASES["cf_suspensions"] = ("cf_suspensions", [], {"Offence": "FailedToBroadcastTransaction"})
REFUND = {"retry_duration": 1, "refund_address": "0x" + "22" * 20, "min_price": "0x1"}
EVM = {"chain": "Ethereum", "input_amount": "0x1", "refund_parameters": REFUND}
SOLANA_REFUND = {**REFUND, "refund_address": "11111111111111111111111111111111"}
BITCOIN_SWAP = {"chain": "Bitcoin", "nulldata_payload": "0x01", "deposit_address": "bcrt1q"}


def _vault(chain: str, asset: Any, extra: Any) -> None:
    params = [ACCOUNT, asset, USDC, "0x" + "11" * 20, 10, extra]
    CASES[f"cf_request_swap_parameter_encoding.{chain}"] = (
        "cf_request_swap_parameter_encoding",
        params,
        {"VaultSwapDetails": chain.capitalize()},
    )
    CASES[f"broker_decode_vault_swap_parameter.{chain}"] = (
        "cf_decode_vault_swap_parameter",
        [ACCOUNT, BITCOIN_SWAP],
        {"VaultSwapExtraParameters": chain.capitalize(), "EncodedAddress": "Sol"},
    )


_vault("bitcoin", BTC, {"chain": "Bitcoin", "min_output_amount": 5, "retry_duration": 1})
_vault("ethereum", ETH, EVM)
_vault("arbitrum", {"chain": "Arbitrum", "asset": "ETH"}, EVM | {"chain": "Arbitrum"})
_vault(
    "solana",
    SOL,
    {
        "chain": "Solana",
        "from": "11111111111111111111111111111111",
        "seed": "aa",
        "input_amount": 5,
        "refund_parameters": SOLANA_REFUND,
    },
)
CASES["cf_encode_cf_parameters"] = (
    "cf_encode_cf_parameters",
    [ACCOUNT, ETH, USDC, "0x" + "11" * 20, 10, REFUND],
    {},
)
for _role, _case in {"broker": "Broker", "lp": "LiquidityProvider", "validator": "Validator"}.items():
    CASES[f"cf_account_info.{_role}"] = ("cf_account_info", [ACCOUNT], {"AccountRole": _case})
CASES["cf_account_info.no_account"] = ("cf_account_info", [ACCOUNT], {"AccountRole": "Unregistered"})

# The examples of these were built from numbers that a node has as amounts.
LOOSE = {
    "cf_environment", "cf_funding_environment", "cf_ingress_egress_environment", "cf_auction_state",
    "cf_swapping_environment", "cf_swap_rate", "cf_account_info.lp", "cf_account_info.no_account",
    *(name for name in CASES if name.startswith("broker_decode_vault_swap_parameter")),
}  # fmt: skip
OPTIONAL = {"account_id", "bound_redeem_address", "restricted_balances", "current_delegation_status",
            "upcoming_delegation_status", "vanity_name", "operator"}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_members_and_value_forms_are_those_of_the_official_node(metadata: Metadata, case: str) -> None:
    name, params, cases = CASES[case]
    ours = await ask(metadata, name, *params, **cases)
    found = differences(ours, example(case), "", case in LOOSE)
    assert [line for line in found if line.partition(" ")[0].rpartition(".")[2] not in OPTIONAL] == []


async def test_the_environment_names_the_chains_and_assets_of_its_runtime(metadata: Metadata) -> None:
    definition = metadata.registry.find("chains", "ForeignChain").definition
    assert isinstance(definition, Variants)
    chains = {case.name for case in definition.variants}
    answer = await ask(metadata, "cf_ingress_egress_environment")
    for name in ("witness_safety_margins", "channel_opening_fees", "ingress_delays", "boost_delays"):
        assert answer[name].keys() == chains == CHAINS.keys() - {"Bsc"}
    assert answer["minimum_deposit_amounts"].keys() == chains
    # One asset is in the runtime's map; of each other one unit may be added.
    minimums = [
        each for chain in answer["boost_minimum_add_funds_amounts"].values() for each in chain.values()
    ]
    assert sorted(set(minimums)) == ["0x1", hex(AMOUNT)]
    assert minimums.count(hex(AMOUNT)) == 1


async def test_a_chain_without_vaults_has_an_empty_list(
    metadata: Metadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: Any, **__: Any) -> Any:
        return {"bitcoin_vault": None, "bitcoin": [], "predicted_seconds_until_next_vault_rotation": 0}

    monkeypatch.setattr(controlled, "value", none)
    monkeypatch.setattr(controlled, "block_update", lambda header, block: {"timestamp": 0})
    assert await ask(metadata, "cf_controlled_vault_addresses", "Bitcoin") == {"Bitcoin": []}


def test_a_vanity_name_that_is_no_text_is_replaced_as_a_whole() -> None:
    assert (vanity_name("Zoë".encode()), vanity_name(b"a\xff")) == ("Zoë", "<Invalid UTF-8>")


async def test_what_was_witnessed_is_written_as_people_and_explorers_do(metadata: Metadata) -> None:
    name = "cf_ingress_egress_events"
    ethereum = await ask(metadata, name, "Ethereum", RawWitnessedEvents="Ethereum", ForeignChainAddress="Eth")
    bitcoin = await ask(metadata, name, "Bitcoin", RawWitnessedEvents="Bitcoin")
    assert differences(ethereum | {"broadcasts": bitcoin["broadcasts"]}, example(name), "", False) == []
    assert ethereum["broadcasts"][0]["broadcast_id"] == 7
    assert bitcoin["vault_deposits"][0]["tx_id"] == "0x" + "11" * 32
    assert bitcoin["broadcasts"][0]["tx_out_id"] == {"hash": "11" * 32}
    assert bitcoin["deposits"][0]["deposit_address"].startswith("1")


async def test_what_a_newer_runtime_has_seen_of_assethub(
    metadata: Metadata, monkeypatch: pytest.MonkeyPatch
) -> None:
    extrinsic = {"block_number": 42, "extrinsic_index": 7}
    deposit = {
        "deposit_address": b"\x33" * 32,
        "asset": "HubDot",
        "amount": 200,
        "deposit_details": extrinsic,
    }
    sent = {"tx_out_id": b"\x22" * 64, "transaction_ref": extrinsic}

    async def seen(*_: Any, **__: Any) -> Any:
        return "Assethub", {"deposits": [(2, deposit)], "broadcasts": [(3, sent)]}

    monkeypatch.setattr(witnessed, "value", seen)
    name = "cf_ingress_egress_events"
    answer = await ask(metadata, name, "Assethub")
    assert answer["deposits"] == [each for each in example(name)["deposits"] if "Assethub" in str(each)]
    assert answer["broadcasts"] == [
        {
            "broadcast_chain_block_height": 3,
            "broadcast_id": 7,
            "tx_out_id": {"signature": "22" * 64},
            "tx_ref": extrinsic,
        }
    ]
    assert answer["vault_deposits"] == []


UNOFFERED = {
    # what runtime 2.2.3 does not have
    "cf_reward_distribution_estimate",
    *(f"cf_{chain}_{what}" for chain in ("bsc", "assethub") for what in ("electoral_data", "filter_votes")),
}


@pytest.mark.parametrize("name", sorted(ROWS))
async def test_every_row_shows_what_its_runtime_api_gives(metadata: Metadata, name: str) -> None:
    if name in UNOFFERED:
        with pytest.raises((ApiMissing, RpcError), match="runtime 20203 has no"):
            await ask(metadata, name, *PARAMS.get(ROWS[name].name, []))
    else:
        answer = await ask(metadata, name, *PARAMS.get(ROWS[name].name, []))
        assert json.loads(jsonrpc.encode(answer)) == answer
