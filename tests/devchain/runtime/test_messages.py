"""Cross-chain messages: what each destination takes, to the byte."""

from __future__ import annotations

from typing import Any

import base58
import pytest

from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame.table import TypeTable
from cfnode.devchain.runtime.frame.types import COMMON
from cfnode.devchain.runtime.pallets.swap_requests.ccm import CcmError, check_ccm
from tests.devchain.runtime.broker import ccm
from tests.devchain.runtime.world import World

RECEIVER, FALLBACK, DESTINATION = b"\x01" * 32, b"\xf0" * 32, b"\x0d" * 32
SYSTEM_PROGRAM = bytes(32)
TOKEN_PROGRAM = base58.b58decode("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
INSTRUCTIONS = base58.b58decode("Sysvar1nstructions1111111111111111111111111")


@pytest.fixture(scope="module")
def world() -> World:
    """Return a new chain; no test of this file changes it."""
    return World()


def key(number: int) -> bytes:
    """Return an account key that ends with a number."""
    return number.to_bytes(32, "big")


def accounts_bytes(*others: bytes) -> bytes:
    """Return SCALE of CcmAccounts: the receiver, the further accounts, the fallback address."""
    count = bytes([len(others) << 2])
    return RECEIVER + b"\x01" + count + b"".join(other + b"\x00" for other in others) + FALLBACK


def refusal(world: World, asset: str, message: dict[str, Any]) -> str | None:
    """Return why a message is refused; None if it is taken."""
    try:
        swapping = world.runtime.composition.by_name["Swapping"]
        check_ccm(swapping, values.CcmChannelMetadata(**message), asset, DESTINATION)
    except CcmError as error:
        return str(error)
    return None


TOO_LONG = "Invalid Ccm: message too long"


@pytest.mark.parametrize(("asset", "room"), [("Sol", 783), ("SolUsdc", 694), ("SolUsdt", 632)])
def test_a_message_to_solana_has_the_room_that_a_transaction_leaves(
    world: World, asset: str, room: int
) -> None:
    """Accept a message to Solana up to the room that a transaction leaves, and not a byte more."""
    data = b"\x00" + accounts_bytes()
    assert refusal(world, asset, ccm(bytes(room), data)) is None
    assert refusal(world, asset, ccm(bytes(room + 1), data)) == TOO_LONG


def test_each_new_account_takes_its_key_and_a_reference(world: World) -> None:
    """Subtract 33 bytes of the room for each new account: its key and a reference."""
    data = b"\x00" + accounts_bytes(key(1), key(2))
    assert refusal(world, "Sol", ccm(bytes(783 - 2 * 33), data)) is None
    assert refusal(world, "Sol", ccm(bytes(783 - 2 * 33 + 1), data)) == TOO_LONG


def test_accounts_that_are_there_anyway_take_a_reference_only(world: World) -> None:
    """Subtract one byte for an account that the transaction has anyway, or that the message names again."""
    known = (SYSTEM_PROGRAM, INSTRUCTIONS, DESTINATION, RECEIVER)
    data = b"\x00" + accounts_bytes(*known, key(1), key(1))
    room = 783 - 6 - 32
    assert refusal(world, "Sol", ccm(bytes(room), data)) is None
    assert refusal(world, "Sol", ccm(bytes(room + 1), data)) == TOO_LONG


def test_the_token_program_is_there_for_tokens_only(world: World) -> None:
    """Count the token program as known for tokens only: a transfer of SOL does not name it."""
    data = b"\x00" + accounts_bytes(TOKEN_PROGRAM)
    assert refusal(world, "SolUsdc", ccm(bytes(694 - 1), data)) is None
    assert refusal(world, "Sol", ccm(bytes(783 - 1), data)) == TOO_LONG


def test_address_tables_shrink_the_accounts_and_cost_room_themselves(world: World) -> None:
    """Count accounts in tables as references, subtract the tables' own bytes, and refuse four tables."""
    tables = [key(100 + index) for index in range(4)]
    many = [key(index) for index in range(1, 11)]
    three = b"\x01" + accounts_bytes(*many) + b"\x0c" + b"".join(tables[:3])
    room = 783 - 10 - 10 - 3 * 34 + 62
    assert refusal(world, "Sol", ccm(bytes(room), three)) is None
    assert refusal(world, "Sol", ccm(bytes(room + 1), three)) == TOO_LONG
    four = b"\x01" + accounts_bytes() + b"\x10" + b"".join(tables)
    assert refusal(world, "Sol", ccm(b"", four)) == "Invalid Ccm: Too many address lookup tables"


def test_bytes_behind_the_accounts_are_ignored(world: World) -> None:
    """Ignore bytes behind the accounts, as the official runtime does."""
    assert refusal(world, "Sol", ccm(b"", b"\x00" + accounts_bytes() + b"\x00trailing")) is None


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x02" + accounts_bytes(), b"\x00" + accounts_bytes()[:-1]])
def test_accounts_that_cannot_be_read_are_refused(world: World, data: bytes) -> None:
    """Refuse accounts that cannot be decoded."""
    assert refusal(world, "Sol", ccm(b"", data)) == "Invalid Ccm: Cannot decode additional data"


def test_the_checked_message_carries_the_accounts_decoded(world: World) -> None:
    """Return the checked message with its accounts decoded, as the event has them."""
    swapping = world.runtime.composition.by_name["Swapping"]
    message = values.CcmChannelMetadata(**ccm(b"m", b"\x00" + accounts_bytes(key(1))))
    checked = check_ccm(swapping, message, "Sol", DESTINATION)
    content = values.CcmAccounts(
        cf_receiver=values.CcmAddress(pubkey=RECEIVER, is_writable=True),
        additional_accounts=[values.CcmAddress(pubkey=key(1), is_writable=False)],
        fallback_address=FALLBACK,
    )
    assert checked.ccm_additional_data == values.DecodedCcmAdditionalDataSolana(
        values.SolanaCcmDataV0(content)
    )


@pytest.mark.parametrize("asset", ["Eth", "Usdc", "ArbEth", "TrxUsdt"])
def test_evm_destinations_take_a_message_and_nothing_else(world: World, asset: str) -> None:
    """Accept any message to an EVM chain, and refuse additional data that would not be used."""
    assert refusal(world, asset, ccm(b"anything")) is None
    wanted = "Invalid Ccm: Additional data supplied but they will not be used"
    assert refusal(world, asset, ccm(b"anything", b"\x00")) == wanted


# Assethub: the message is a call. The chain's own type table writes it, ours reads it.


def location(version: str, account: bytes) -> Any:
    """Return a location of XCM: an account on AssetHub."""
    junction = ("AccountId32", {"network": None, "id": account})
    interior = ("X1", junction if version == "V3" else [junction])
    return version, {"parents": 0, "interior": interior}


def assets(version: str) -> Any:
    """Return an amount of the relay chain's coin, in a version of XCM."""
    native = {"parents": 1, "interior": "Here"}
    return version, [{"id": ("Concrete", native) if version == "V3" else native, "fun": ("Fungible", 10**12)}]


@pytest.fixture(scope="module")
def theirs(metadata_v15: bytes) -> Metadata:
    """Return the metadata of the official runtime."""
    return decode_metadata(metadata_v15)


@pytest.mark.parametrize("version", ["V3", "V4", "V5"])
def test_a_transfer_call_written_with_the_chains_types_is_taken(
    world: World, theirs: Metadata, version: str
) -> None:
    """Accept a transfer that is encoded with the official types, and refuse it with a byte more or less."""
    path = ("cf_chains", "hub", "XcmCall")
    (type_id,) = [kind.id for kind in theirs.registry.types if kind.path == path]
    transfer = {
        "dest": location(version, b"d" * 32),
        "beneficiary": location(version, b"b" * 32),
        "assets": assets(version),
        "fee_asset_item": 0,
        "weight_limit": "Unlimited",
    }
    message = theirs.registry.codec(type_id).encode(("transfer_assets", transfer))
    assert refusal(world, "HubDot", ccm(message)) is None
    for broken in (message[:-1], message + b"\x00", b"\x00" + message, b""):
        assert refusal(world, "HubDot", ccm(broken)) == "Invalid Ccm: Cannot decode additional data"


@pytest.mark.parametrize("version", ["V3", "V4", "V5"])
def test_a_call_may_carry_a_program_inside_a_program(world: World, version: str) -> None:
    """Decode a call with an XCM program within a program: the type refers to itself."""
    table = TypeTable(COMMON)
    type_id = table.id("XcmCall")
    codec = table.registry.codec(type_id)
    # SetAppendix holds a program; so may every instruction of it.
    program = [("SetAppendix", [("SetAppendix", ["ClearOrigin"]), ("Trap", 7)]), ("SetTopic", bytes(32))]
    call = {
        "dest": location(version, b"d" * 32),
        "assets": assets(version),
        "assets_transfer_type": "Teleport",
        "remote_fees_id": (version, assets(version)[1][0]["id"]),
        "fees_transfer_type": ("RemoteReserve", location(version, b"r" * 32)),
        "custom_xcm_on_dest": (version, program),
        "weight_limit": ("Limited", {"ref_time": 1, "proof_size": 2}),
    }
    message = codec.encode(("transfer_assets_using_type_and_then", call))
    assert message[:1] == b"\x0d"
    assert b"\x16\x08\x16\x04\x0a\x19\x1c\x2c" + bytes(32) in message
    assert refusal(world, "HubDot", ccm(message)) is None
