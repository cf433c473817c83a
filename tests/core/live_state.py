"""The state of a chain of strangers, far from genesis, as the metadata of any of its versions writes it."""

from __future__ import annotations

from typing import Any

from cfnode.core.chainspec import ChainSpec, RawGenesis
from cfnode.core.chainspec.authorities import SpecAuthority
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import Metadata
from cfnode.core.state import LAST_SEEN_SLOT

AUTHORITIES = [
    SpecAuthority(Keypair.from_suri(name).public, Keypair.from_suri(name, "ed25519").public)
    for name in ("//Dave", "//Eve")
]
ACCOUNTS = [authority.aura for authority in AUTHORITIES]
STRANGER = b"\x99" * 32
NUMBER, NOW, EPOCH, BOND = 10_000_000, 1_790_000_000_000, 320, 85_000 * 10**18
COUNCIL_OF_THREE = {"members": [b"\x01" * 32, b"\x02" * 32, b"\x03" * 32], "threshold": 2}


def live_state(metadata: Metadata) -> dict[bytes, bytes]:
    """Return the state of a chain far from genesis: strangers, blocks and time."""
    validator_keys = {"aura": STRANGER, "grandpa": STRANGER}
    rows: list[tuple[str, str, tuple[Any, ...], Any]] = [
        ("System", "Number", (), NUMBER),
        ("System", "BlockHash", (NUMBER - 1,), b"\x07" * 32),
        ("System", "Account", (ACCOUNTS[0],), account(metadata) | {"nonce": 7, "sufficients": 1}),
        ("Timestamp", "Now", (), NOW),
        ("Aura", "CurrentSlot", (), NOW // 6_000),
        ("Aura", "Authorities", (), [STRANGER]),
        ("Grandpa", "Authorities", (), [(STRANGER, 1)]),
        ("Grandpa", "CurrentSetId", (), EPOCH),
        ("Session", "Validators", (), [STRANGER]),
        ("Session", "QueuedKeys", (), [(STRANGER, validator_keys)]),
        ("Session", "QueuedChanged", (), True),
        ("Session", "NextKeys", (STRANGER,), validator_keys),
        ("Session", "KeyOwner", ((b"aura", STRANGER),), STRANGER),
        ("Validator", "CurrentEpoch", (), EPOCH),
        ("Validator", "CurrentEpochStartedAt", (), NUMBER - 500),
        ("Validator", "CurrentRotationPhase", (), ("KeygensInProgress", rotation())),
        ("Validator", "Bond", (), BOND),
        ("Validator", "CurrentAuthorities", (), [STRANGER]),
        ("Validator", "HistoricalAuthorities", (EPOCH - 1,), [STRANGER]),
        ("Validator", "AuthorityIndex", (EPOCH, STRANGER), 0),
        ("Validator", "HistoricalActiveEpochs", (STRANGER,), [(EPOCH, BOND)]),
        ("Flip", "TotalIssuance", (), 90_000_000 * 10**18),
        ("Flip", "Account", (ACCOUNTS[1],), {"balance": 3, "bond": 2}),
        ("Emissions", "LastSupplyUpdateBlock", (), NUMBER - 40),
        ("Reputation", "Penalties", ("MissedAuthorshipSlot",), {"reputation": 30, "suspension": 50}),
        ("Reputation", "Penalties", ("GrandpaEquivocation",), {"reputation": 9, "suspension": 8}),
        ("Governance", "Members", (), COUNCIL_OF_THREE),
    ]
    top = {b":code": b"code", LAST_SEEN_SLOT: (NOW // 6_000).to_bytes(8, "little")}
    for pallet, item, keys, value in rows:
        entry = metadata.storage(pallet, item)
        top[entry.key(*keys)] = entry.value.encode(value)
    return top


def account(metadata: Metadata) -> dict[str, Any]:
    """Return the decoded default of an account."""
    value = metadata.storage("System", "Account").decode(None)
    assert isinstance(value, dict)
    return value


def rotation() -> dict[str, Any]:
    """Return a rotation whose candidates are strangers."""
    return {
        "primary_candidates": [STRANGER],
        "banned": [],
        "bond": BOND,
        "new_epoch_index": EPOCH + 1,
    }


def spec_of(top: dict[bytes, bytes]) -> ChainSpec:
    """Return the specification of a live chain whose genesis has these entries."""
    return ChainSpec("Live", "live", "Live", (), genesis=RawGenesis(top, {}))
