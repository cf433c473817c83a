"""Methods for runtimes that are newer than the releases of the development runtime.

The types and functions are those that the official sources declare; the runtime of the tests adds them to the
newest release.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cfnode.core import ss58
from cfnode.core.runtime_api import ApiMissing
from cfnode.core.scale.metadata import Metadata
from cfnode.devchain.runtime.executive import Executive
from cfnode.devchain.runtime.frame import Composition, RuntimeApi, method
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES, Release, by_release
from cfnode.devchain.runtime.runtime import APIS, pallets_of
from tests.devchain.runtime.differences import ours
from tests.rpc.samples import ACCOUNT
from tests.support.rpc.samples_chain import ask

NEWER = 21
TYPES = "state_chain_runtime::runtime_apis::custom_api::types"


class NewerApi(RuntimeApi):
    """Declarations of `CustomRuntimeApi` after version 20. The tests read them only."""

    api = "CustomRuntimeApi"

    @method("WithdrawalWhitelistInfo", account_id="AccountId32")
    def cf_withdrawal_whitelist(self, account_id: bytes) -> None:
        """Return destinations of withdrawals."""

    @method("Option<evm::Transaction>", broadcast_id="u32")
    def cf_failed_call_bsc(self, broadcast_id: int) -> None:
        """Return a transaction that repeats a failed transfer."""


@by_release
def declare(catalog: Catalog, release: Release) -> None:
    """Declare the types of `CustomRuntimeApi` 21."""
    if release.api_versions["CustomRuntimeApi"] < NEWER:
        return
    destination, update = f"{TYPES}::WhitelistDestination", f"{TYPES}::WhitelistUpdate"
    catalog.enum(destination, "InternalAccount(AccountId32)", "ExternalAddress(EncodedAddress)")
    catalog.enum(update, "Allow(WhitelistDestination)", "Remove(WhitelistDestination)", "Timelock(u64)")
    active = {"timelock_secs": "u64", "allowed": "Vec<WhitelistDestination>"}
    catalog.struct(f"{TYPES}::ActiveWithdrawalWhitelist", **active)
    catalog.struct(f"{TYPES}::PendingWhitelistUpdate", activates_at="u64", update="WhitelistUpdate")
    info = {"active": "Option<ActiveWithdrawalWhitelist>", "pending": "Vec<PendingWhitelistUpdate>"}
    catalog.struct(f"{TYPES}::WithdrawalWhitelistInfo", **info)


@pytest.fixture(scope="module")
def newer() -> Metadata:
    """Return metadata with the API of version 21."""
    release = RELEASES[DEFAULT_RELEASE]
    release = replace(release, api_versions={**release.api_versions, "CustomRuntimeApi": NEWER})
    composition = Composition(pallets_of(release), (*APIS, NewerApi), release)
    return composition.service(Executive).metadata(15)


async def test_a_whitelist_has_its_addresses_with_their_chains(newer: Metadata) -> None:
    """Write the addresses of a whitelist with their chains."""
    whitelist = await ask(newer, "cf_withdrawal_whitelist", ACCOUNT, WhitelistDestination="ExternalAddress")
    address = {"ExternalAddress": {"chain": "Ethereum", "address": "0x" + "11" * 20}}
    assert whitelist == {
        "active": {"timelock_secs": 7, "allowed": [address]},
        "pending": [{"activates_at": 7, "update": {"Allow": address}}],
    }
    bitcoin = {
        "WhitelistDestination": "ExternalAddress",
        "EncodedAddress": "Btc",
        "WhitelistUpdate": "Remove",
    }
    whitelist = await ask(newer, "cf_withdrawal_whitelist", ACCOUNT, **bitcoin)
    address = {"ExternalAddress": {"chain": "Bitcoin", "address": "\x01\x02\x03"}}
    assert whitelist["pending"] == [{"activates_at": 7, "update": {"Remove": address}}]


async def test_a_whitelist_has_its_accounts_and_timelocks(newer: Metadata) -> None:
    """Write the accounts and timelocks of a whitelist."""
    whitelist = await ask(newer, "cf_withdrawal_whitelist", ACCOUNT, WhitelistUpdate="Timelock")
    assert whitelist["active"]["allowed"] == [{"InternalAccount": ss58.encode(b"\x11" * 32, 2112)}]
    assert whitelist["pending"] == [{"activates_at": 7, "update": {"Timelock": 7}}]


async def test_a_failed_call_on_bsc_is_as_one_on_another_evm_chain(newer: Metadata) -> None:
    """Answer for a failed call on BSC as for one on another EVM chain."""
    failed_call = await ask(newer, "cf_failed_call_bsc", 1)
    assert failed_call == await ask(newer, "cf_failed_call_ethereum", 1)
    assert failed_call["data"] == "010203"


@pytest.mark.parametrize("name", ["cf_withdrawal_whitelist", "cf_failed_call_bsc"])
async def test_a_runtime_without_them_is_unsupported(name: str) -> None:
    """Refuse methods that the runtime lacks as unsupported, by name."""
    params = [ACCOUNT] if name == "cf_withdrawal_whitelist" else [1]
    with pytest.raises(ApiMissing, match=f"has no CustomRuntimeApi_{name}"):
        await ask(ours("2.3.0"), name, *params)
