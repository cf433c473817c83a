"""May the payload be sent now, by this account, and what will it cost? Asked of an Ethereum JSON-RPC node.

Cheap certainties come first: the chain id, the contracts, whether the nonce is used, whether the contract
holds the key that signed. Then the call is simulated, so that a refusal costs nothing, and only then gas and
fees are looked at. Gas: the estimate and a third more, as Chainflip's own engine takes (the need moves by
some thousand with the time of the block). Fees: EIP-1559, twice the base fee and the tip; no tip on Arbitrum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.core.hashing import keccak_256
from cfnode.sdk.addresses import checksum_address
from cfnode.sdk.calls import Call
from cfnode.sdk.errors import BadAnswer, RpcCallError
from cfnode.sdk.exchange import Steps, rpc, rpc_batch, shown
from cfnode.sdk.options import Session
from cfnode.sdk.recovery.errors import (
    AlreadySent,
    KeyRotated,
    NoFundsForGas,
    RecoveryError,
    WouldRevert,
    WrongChain,
)
from cfnode.sdk.recovery.node import FailedCall
from cfnode.sdk.recovery.payload import Payload

__all__ = [
    "CheckContracts",
    "FetchReceipt",
    "PrepareTransaction",
    "Receipt",
    "SendTransaction",
    "UnsignedTransaction",
    "revert_reason",
]

_ERROR_SELECTOR = keccak_256(b"Error(string)")[:4]
_NO_TIP = ("Arbitrum",)


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """An EIP-1559 transaction for any wallet. Amounts in wei; `nonce` is the sending account's."""

    chain_id: int
    to: bytes
    data: bytes
    nonce: int
    gas: int
    max_fee_per_gas: int
    max_priority_fee_per_gas: int

    @property
    def highest_cost(self) -> int:
        """What the gas costs at most, in wei."""
        return self.gas * self.max_fee_per_gas

    def fields(self) -> dict[str, Any]:
        """As eth-account takes it; `to` has its checksum, or it would be refused."""
        return {
            "type": 2,
            "chainId": self.chain_id,
            "to": checksum_address(self.to),
            "value": 0,
            "data": "0x" + self.data.hex(),
            "nonce": self.nonce,
            "gas": self.gas,
            "maxFeePerGas": self.max_fee_per_gas,
            "maxPriorityFeePerGas": self.max_priority_fee_per_gas,
        }


class CheckContracts(Call[None]):
    """Whether the EVM chain would take the signature: raises WrongChain, AlreadySent or KeyRotated."""

    def __init__(self, failed: FailedCall, url: str) -> None:
        self.failed = failed
        self.url = url

    def steps(self, session: Session) -> Steps[None]:
        yield from self._vault(session)
        yield from self._key_manager(session)

    def _vault(self, session: Session) -> Steps[None]:
        """It is the right chain, and the vault there belongs to the key manager that we know."""
        payload, url = self.failed.payload, self.url
        vault = "0x" + payload.vault.hex()
        chain_id, code = yield from rpc_batch(
            session, url, [("eth_chainId", []), ("eth_getCode", [vault, "latest"])]
        )
        _check_chain(payload, _number(chain_id, url), code)
        manager = yield from _view(session, url, vault, "getKeyManager()")
        if manager[-20:] != self.failed.key_manager:
            raise WrongChain(
                f"wrong chain: the vault {vault} names another key manager than the State Chain does"
            )

    def _key_manager(self, session: Session) -> Steps[None]:
        """The nonce is free, and the key that signed is the one it holds."""
        payload, where = self.failed.payload, "0x" + self.failed.key_manager.hex()
        used = yield from _view(session, self.url, where, "isNonceUsedByAggKey(uint256)", payload.nonce)
        if any(used):
            raise AlreadySent(
                f"already sent: nonce {payload.nonce} is used on {payload.chain}, so the receiver has been "
                "paid; nothing is left to do"
            )
        key = yield from _view(session, self.url, where, "getAggregateKey()")
        if not payload.is_signed_by(bytes([2 + key[63]]) + key[:32], self.failed.key_manager):
            raise KeyRotated(
                f"key rotated: the key manager on {payload.chain} holds another key than the one that "
                "signed; fetch the payload again in some minutes"
            )


class PrepareTransaction(Call[UnsignedTransaction]):
    """The transaction that `sender` (20 bytes) would send; raises WouldRevert or NoFundsForGas."""

    def __init__(self, failed: FailedCall, url: str, sender: bytes) -> None:
        self.failed = failed
        self.url = url
        self.sender = sender

    def steps(self, session: Session) -> Steps[UnsignedTransaction]:
        payload = self.failed.payload
        call = {
            "from": "0x" + self.sender.hex(),
            "to": "0x" + payload.vault.hex(),
            "data": "0x" + payload.data.hex(),
        }
        gas = _gas(payload, (yield from self._estimate(session, call)))
        nonce, held, fee, tip = yield from self._state(session, call["from"])
        transaction = UnsignedTransaction(
            payload.chain_id, payload.vault, payload.data, nonce, gas, 2 * fee + tip, tip
        )
        if held < transaction.highest_cost:
            raise NoFundsForGas(
                f"{call['from']} has {held} wei; the gas may cost {transaction.highest_cost} wei: "
                f"send it some of {payload.chain}'s own coin first"
            )
        return transaction

    def _state(self, session: Session, sender: str) -> Steps[tuple[int, int, int, int]]:
        """The sender's nonce and wei, the base fee and the tip of now."""
        questions: list[tuple[str, list[Any]]] = [
            ("eth_getTransactionCount", [sender, "pending"]),
            ("eth_getBalance", [sender, "latest"]),
            ("eth_getBlockByNumber", ["latest", False]),
        ]
        if self.failed.payload.chain not in _NO_TIP:
            questions.append(("eth_maxPriorityFeePerGas", []))
        nonce, balance, block, *tips = yield from rpc_batch(session, self.url, questions)
        fee = block.get("baseFeePerGas") if isinstance(block, dict) else None
        read = [_number(each, self.url) for each in (nonce, balance, fee)]
        return read[0], read[1], read[2], sum(_number(each, self.url) for each in tips)

    def _estimate(self, session: Session, call: dict[str, str]) -> Steps[int]:
        """The gas that the call takes; simulated first, so that a refusal has its reason."""
        url, payload = self.url, self.failed.payload
        try:
            yield from rpc(session, url, "eth_call", [call, "latest"])
            estimate = yield from rpc(session, url, "eth_estimateGas", [call])
        except RpcCallError as error:
            reason = revert_reason(error)
            if "insufficient funds" in error.rpc_message.lower() and not reason:
                raise NoFundsForGas(f"{call['from']} cannot pay the gas: {error.rpc_message}") from None
            held = None
            if payload.is_native and "transfer fallback failed" in reason:
                held = yield from rpc(session, url, "eth_getBalance", [call["to"], "latest"])
            raise _refusal(payload, reason or error.rpc_message, held, url) from None
        return _number(estimate, url)


class SendTransaction(Call[str]):
    """Hand a signed transaction to the node, once; its hash (0x hex)."""

    def __init__(self, raw: bytes, url: str) -> None:
        self.raw = raw
        self.url = url

    def steps(self, session: Session) -> Steps[str]:
        found = yield from rpc(session, self.url, "eth_sendRawTransaction", ["0x" + self.raw.hex()])
        return str(found)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a transaction: its block's number, the gas it took, whether it went through."""

    block: int
    gas_used: int
    succeeded: bool


class FetchReceipt(Call[Receipt | None]):
    """The receipt of a transaction, None while it waits for its block."""

    def __init__(self, transaction_hash: str, url: str) -> None:
        self.transaction_hash = transaction_hash
        self.url = url

    def steps(self, session: Session) -> Steps[Receipt | None]:
        found = yield from rpc(session, self.url, "eth_getTransactionReceipt", [self.transaction_hash])
        if not isinstance(found, dict) or found.get("blockNumber") is None:
            return None
        names = ("blockNumber", "gasUsed", "status")
        block, gas_used, status = (_number(found.get(name), self.url) for name in names)
        return Receipt(block, gas_used, status == 1)


def revert_reason(error: RpcCallError) -> str:
    """The contract's own text of a failed simulation, "" where there is none."""
    data = error.data.get("data") if isinstance(error.data, dict) else error.data
    try:
        raw = bytes.fromhex(str(data).removeprefix("0x"))
    except ValueError:
        return ""
    if raw[:4] != _ERROR_SELECTOR:
        return ""
    length = int.from_bytes(raw[36:68], "big")
    return raw[68 : 68 + min(length, 1000)].decode("utf-8", "replace")


def _check_chain(payload: Payload, found: int, code: Any) -> None:
    if found != payload.chain_id:
        raise WrongChain(
            f"wrong chain: the payload is for chain id {payload.chain_id}, the EVM node serves {found}"
        )
    if not isinstance(code, str) or code in ("0x", "0x0"):
        raise WrongChain(f"wrong chain: no contract stands at the vault's address 0x{payload.vault.hex()}")


def _view(session: Session, url: str, contract: str, signature: str, *arguments: int) -> Steps[bytes]:
    data = keccak_256(signature.encode())[:4] + b"".join(each.to_bytes(32, "big") for each in arguments)
    try:
        answer = yield from rpc(
            session, url, "eth_call", [{"to": contract, "data": "0x" + data.hex()}, "latest"]
        )
        raw = bytes.fromhex(str(answer).removeprefix("0x"))
    except (RpcCallError, ValueError):
        raw = b""
    if len(raw) < 32 * (2 if signature == "getAggregateKey()" else 1):
        raise WrongChain(f"{contract} does not answer {signature}: it is not a contract of Chainflip")
    return raw


def _gas(payload: Payload, estimate: int) -> int:
    if payload.gas_limit is None:
        return estimate * 4 // 3
    if estimate > payload.gas_limit:
        raise WouldRevert(
            f"the call needs {estimate} gas, more than its limit of {payload.gas_limit}", "out of gas"
        )
    return payload.gas_limit


_ADVICE = {
    "KeyManager: nonce already used": "it has been sent already; nothing is left to do",
    "KeyManager: Sig invalid": "key rotated; fetch the payload again in some minutes",
    "Governance: suspended": "the vault is suspended; try again later",
    "SafeERC20: ERC20 operation did not succeed": "the token refuses the transfer to this receiver",
    "Address: call to non-contract": "no token stands at that address: wrong chain or set-up",
}


def _refusal(payload: Payload, reason: str, held: Any, url: str) -> RecoveryError:
    if reason == "KeyManager: nonce already used":
        return AlreadySent(f"already sent: {reason}")
    if reason == "KeyManager: Sig invalid":
        return KeyRotated(f"{reason}: {_ADVICE[reason]}")
    if held is not None and _number(held, url) < payload.transfer.amount:
        advice = f"the vault holds {_number(held, url)} wei, less than is to be paid; wait and try again"
    elif payload.is_native:
        advice = _ADVICE.get(reason, "the receiver still refuses; make it accept payments, then try again")
    else:
        advice = _ADVICE.get(reason, "the token or its receiver refuses; the text is the token's own")
    return WouldRevert(f"sending it now would fail: {reason}. {advice}", reason)


def _number(value: Any, url: str) -> int:
    try:
        return value if isinstance(value, int) else int(str(value), 16)
    except ValueError:
        text = f"the EVM node gave {value!r:.60} for a number"
        raise BadAnswer(text, url=shown(url), sent=True, retryable=False) from None
