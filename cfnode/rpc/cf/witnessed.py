"""The `cf_ingress_egress_events` method: deposits, vault swaps and broadcasts that were witnessed.

Addresses are in their usual text form, and Bitcoin's transaction ids in the form of explorers: in reverse
byte order, without `0x`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.addresses import address_to_text
from cfnode.core.assets import CHAINS
from cfnode.core.scale import ScaleError
from cfnode.rpc.cf.json_encoder import Encode, JsonEncoder
from cfnode.rpc.cf.method import custom, encoder_at, value
from cfnode.rpc.cf.params import CHAIN_PARAM
from cfnode.rpc.substrate.storage import in_state
from cfnode.rpc.table.blocks import block_asked
from cfnode.rpc.table.broker_params import write_asset
from cfnode.rpc.table.convert import account, to_hex

if TYPE_CHECKING:
    from cfnode.node.node import Node

EVM_ADDRESS_BYTES: Final = 20


async def ingress_egress_events(node: Node, chain: str, at: bytes | None) -> dict[str, Any]:
    """Return deposits, vault swaps and broadcasts of a chain that were witnessed in this block."""
    block = block_asked(node, at)
    name, events = await value(node, block, "cf_ingress_egress_events", chain=chain)
    encoder = _WitnessedEncoder(name, await encoder_at(node, block))
    swaps = [
        (height, vault_swap)
        for height, event in events.get("vault_deposits", ())
        for vault_swap in _of_kind(event, "VaultDeposit")
    ]
    return {
        "deposits": [encoder.deposit(height, deposit) for height, deposit in events["deposits"]],
        "broadcasts": await _broadcasts(node, block, encoder, events["broadcasts"]),
        "vault_deposits": [
            encoder.vault_deposit(height, vault_swap, await _affiliates(node, block, vault_swap))
            for height, vault_swap in swaps
        ],
    }


def _of_kind(event: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the events of one kind: EVM chains wrap events by kind; Bitcoin has one kind only."""
    if isinstance(event, dict):
        yield event
    elif event[0].startswith(kind):
        yield event[1]


async def _affiliates(node: Node, block: bytes, swap: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the affiliates' fees of a vault swap, which names them by their broker's short ids."""
    broker, shares = swap["broker_fee"], swap["affiliate_fees"]
    if broker is None or not shares:
        return []
    ids = (await node.chain.runtime_at(block)).metadata.storage("Swapping", "AffiliateIdMapping")
    keys = [ids.key(broker["account"], share["account"]) for share in shares]
    accounts = await in_state(node, block, lambda state: [ids.decode(state.get(key)) for key in keys], keys)
    pairs = zip(accounts, shares, strict=True)
    return [_fee({**share, "account": affiliate}) for affiliate, share in pairs if affiliate is not None]


class _WitnessedEncoder:
    """The encoder of the witnessed events of one chain as JSON."""

    def __init__(self, chain: str, encoder: JsonEncoder) -> None:
        self.chain = chain
        self._script: Encode = encoder.of(encoder.registry.find("btc", "ScriptPubkey").id)
        self._ccm: Encode = encoder.of(encoder.registry.find("cf_chains", "CcmChannelMetadata").id)

    def deposit(self, height: int, event: dict[str, Any]) -> dict[str, Any]:
        """Encode a deposit into a channel."""
        return {
            "deposit_chain_block_height": height,
            "deposit_address": self.address(event["deposit_address"]),
            "amount": hex(event["amount"]),
            "asset": write_asset(event["asset"]),
            "deposit_details": self._details(event["deposit_details"]),
        }

    def vault_deposit(self, height: int, event: dict[str, Any], affiliates: list[Any]) -> dict[str, Any]:
        """Encode a vault swap; its transaction id is hex in the chain's byte order, on Bitcoin too."""
        metadata, fee = event["deposit_metadata"], event["broker_fee"]
        return {
            "tx_id": to_hex(event["tx_id"]),
            "deposit_chain_block_height": height,
            "input_asset": write_asset(event["input_asset"]),
            "output_asset": write_asset(event["output_asset"]),
            "amount": hex(event["deposit_amount"]),
            "destination_address": address_to_text(event["destination_address"]),
            "ccm_deposit_metadata": None if metadata is None else self._metadata(metadata),
            "deposit_details": self._details(event["deposit_details"]),
            "broker_fee": None if fee is None else _fee(fee),
            "affiliate_fees": affiliates,
            "refund_params": self._refund(event["refund_params"]),
            "dca_params": event["dca_params"],
            "max_boost_fee": event["boost_fee"],
        }

    def address(self, payload: Any) -> Any:
        """Encode an account of the chain."""
        if self.chain == "Bitcoin":
            return self._script(payload)
        return address_to_text((CHAINS[self.chain].address, payload))

    def hash(self, data: bytes) -> str:
        """Encode a transaction's id."""
        return data[::-1].hex() if self.chain == "Bitcoin" else to_hex(data)

    def _foreign(self, kind: str, payload: Any) -> dict[str, Any]:
        """Encode an address with its chain; hex for all EVM chains."""
        if kind == "Btc":
            return {kind: self._script(payload)}
        return {
            kind: to_hex(payload) if len(payload) == EVM_ADDRESS_BYTES else address_to_text((kind, payload))
        }

    def _details(self, details: dict[str, Any]) -> dict[str, Any] | None:
        if self.chain == "Bitcoin":
            return {"tx_id": self.hash(details["id"]["tx_id"]), "vout": details["id"]["vout"]}
        if "tx_hashes" not in details:  # an extrinsic of Assethub
            return details
        hashes = details["tx_hashes"]
        return None if hashes is None else {"tx_hashes": [to_hex(tx_hash) for tx_hash in hashes]}

    def _refund(self, refund: dict[str, Any]) -> dict[str, Any]:
        ccm = refund["refund_ccm_metadata"]
        return {
            "retry_duration": refund["retry_duration"],
            "refund_address": self.address(refund["refund_address"]),
            "min_price": hex(refund["min_price"]),
            "refund_ccm_metadata": None if ccm is None else self._ccm(ccm),
            "max_oracle_price_slippage": refund["max_oracle_price_slippage"],
        }

    def _metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        source = metadata["source_address"]
        return {
            "channel_metadata": self._ccm(metadata["channel_metadata"]),
            "source_chain": metadata["source_chain"],
            "source_address": None if source is None else self._foreign(*source),
        }


def _fee(fee: dict[str, Any]) -> dict[str, Any]:
    return {"account": account(fee["account"]), "bps": fee["bps"]}


async def _broadcasts(
    node: Node, block: bytes, encoder: _WitnessedEncoder, events: list[tuple[int, Any]]
) -> list[dict[str, Any]]:
    """Return the confirmed broadcasts, with the ids of the chain's broadcaster."""
    metadata = (await node.chain.runtime_at(block)).metadata
    try:
        ids = metadata.storage(f"{encoder.chain}Broadcaster", "TransactionOutIdToBroadcastId")
    except ScaleError:
        return []
    acceptances = [
        (height, acceptance)
        for height, event in events
        for acceptance in _of_kind(event, "SignatureAccepted")
    ]
    keys = [ids.key(acceptance["tx_out_id"]) for _, acceptance in acceptances]
    values = await in_state(node, block, lambda state: [ids.decode(state.get(key)) for key in keys], keys)
    return [
        _broadcast(encoder, height, entry[0], acceptance)
        for (height, acceptance), entry in zip(acceptances, values, strict=True)
        if entry is not None
    ]


def _broadcast(
    encoder: _WitnessedEncoder, height: int, broadcast_id: int, event: dict[str, Any]
) -> dict[str, Any]:
    out_id, reference = event["tx_out_id"], event["transaction_ref"]
    return {
        "broadcast_chain_block_height": height,
        "broadcast_id": broadcast_id,
        "tx_out_id": _out_id(encoder, out_id),
        "tx_ref": reference if isinstance(reference, dict) else {"hash": encoder.hash(reference)},
    }


def _out_id(encoder: _WitnessedEncoder, out_id: Any) -> dict[str, Any]:
    """Encode the identity of a broadcast transaction: its hash, or its signature.

    A signature is numbers on EVM chains, hex without `0x` on Assethub.
    """
    if isinstance(out_id, dict):
        return {"signature": {name: list(data) for name, data in out_id.items()}}
    return {"hash": encoder.hash(out_id)} if encoder.chain == "Bitcoin" else {"signature": out_id.hex()}


METHODS: Final = (custom("cf_ingress_egress_events", ingress_egress_events, CHAIN_PARAM),)
