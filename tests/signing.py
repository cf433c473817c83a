"""Transactions for a node in another process, signed by the development accounts."""

from __future__ import annotations

from typing import Any

from coincurve import PrivateKey

from cfnode.core import ss58
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.hashing import keccak_256
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import Metadata, decode_metadata
from tests.process import NodeProcess


def metadata_of(node: NodeProcess) -> Metadata:
    """Return the metadata of the best block's runtime."""
    return decode_metadata(bytes.fromhex(node.call("state_getMetadata")[2:]))


def signed(
    node: NodeProcess, metadata: Metadata, key: Keypair, pallet: str, name: str, **arguments: Any
) -> str:
    """Return a call with the account's next nonce, immortal, as hex."""
    version = node.call("state_getRuntimeVersion")
    genesis = bytes.fromhex(node.call("chain_getBlockHash", 0)[2:])
    extrinsic = sign_extrinsic(
        metadata,
        metadata.call_codec.encode((pallet, (name, arguments) if arguments else name)),
        key,
        nonce=node.call("system_accountNextIndex", ss58.encode(key.public, 2112)),
        era=IMMORTAL,
        era_hash=genesis,
        genesis_hash=genesis,
        spec_version=version["specVersion"],
        transaction_version=version["transactionVersion"],
    )
    return "0x" + extrinsic.hex()


def signed_by_wallet(text: str) -> dict[str, Any]:
    """Return the `SignatureData` of a line, as a wallet of Ethereum signs one (ERC-191, personal_sign)."""
    wallet = PrivateKey(b"\x01" * 32)
    message = text.encode()
    digest = keccak_256(b"\x19Ethereum Signed Message:\n%d" % len(message) + message)
    signature = bytearray(wallet.sign_recoverable(digest, hasher=None))
    signature[64] += 27
    signer = keccak_256(wallet.public_key.format(compressed=False)[1:])[12:]
    signed = {"signature": f"0x{signature.hex()}", "signer": f"0x{signer.hex()}"}
    return {"Ethereum": signed | {"sig_type": "PersonalSign"}}
