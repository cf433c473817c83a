"""An EVM chain in memory, on py-evm: each transaction is mined at once, in a block of its own.

There is no pool and no fork, so every block is final, and the pending state is the latest one. The time of a
block is the clock's, or a second after its parent if that is later. All blocks and states stay in memory,
hence `MAX_EVM_BLOCKS`. The rules are those of Cancun; blob transactions, whose data travels apart, are
refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from eth.abc import BlockAPI, BlockHeaderAPI, ComputationAPI, ReceiptAPI, SignedTransactionAPI, StateAPI
from eth.chains.base import MiningChain
from eth.constants import POST_MERGE_DIFFICULTY, POST_MERGE_MIX_HASH, POST_MERGE_NONCE
from eth.db.atomic import AtomicDB
from eth.exceptions import PyEVMError, Revert, VMError
from eth.vm.forks.cancun import CancunVM
from eth.vm.spoof import SpoofTransaction
from eth_keys.exceptions import BadSignature
from eth_typing import Address
from eth_utils import ValidationError
from rlp.exceptions import RLPException

__all__ = [
    "BLOCK_GAS",
    "MAX_EVM_BLOCKS",
    "MAX_TRANSACTION",
    "EvmAccount",
    "EvmChain",
    "EvmRefusal",
    "Mined",
    "Simulated",
    "SimulationReverted",
]

BLOCK_GAS: Final = 30_000_000
"""Gas limit of a block, and of a simulation."""
MAX_EVM_BLOCKS: Final = 100_000
MAX_TRANSACTION: Final = 128 * 1024
"""Bytes of a signed transaction."""
_BLOB_TYPE: Final = 3
_CALL_STIPEND: Final = 2_300
_SUCCESS: Final = b"\x01"
"""What a receipt has in the place of the state root of older ones."""
_MALFORMED: Final = (
    PyEVMError,
    ValidationError,
    BadSignature,
    RLPException,
    ValueError,
    TypeError,
    LookupError,
)
"""Errors of py-evm's readers of transactions."""


class EvmRefusal(Exception):
    """A transaction or a simulation that the chain does not run; the text says why."""


class SimulationReverted(Exception):
    """A simulation that ended with an error; `data` is what the contract returned, if it did."""

    def __init__(self, data: bytes, reason: str) -> None:
        super().__init__(reason)
        self.data, self.reason = data, reason


@dataclass(frozen=True, slots=True)
class EvmAccount:
    """An account at genesis."""

    balance: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A transaction to simulate: without a signature, and without a price."""

    sender: bytes = bytes(20)
    to: bytes = b""
    """20 bytes; empty to create a contract."""
    value: int = 0
    data: bytes = b""
    gas: int = BLOCK_GAS


@dataclass(frozen=True, slots=True)
class Mined:
    """A transaction in its block, which has no other."""

    block: BlockAPI
    transaction: SignedTransactionAPI
    receipt: ReceiptAPI

    @property
    def has_succeeded(self) -> bool:
        """Whether its receipt has status 1."""
        return bool(self.receipt.state_root == _SUCCESS)


class _CancunChain(MiningChain):  # type: ignore[misc]  # untyped, see pyproject.toml
    vm_configuration = ((0, CancunVM),)

    def create_header_from_parent(self, parent_header: BlockHeaderAPI, **params: Any) -> BlockHeaderAPI:
        """Return a header with the parent's gas limit."""
        return super().create_header_from_parent(parent_header, **params, gas_limit=parent_header.gas_limit)


class EvmChain:
    """The chain. `accounts` are those of genesis, by address; `clock` gives Unix seconds.

    `on_mined` is called with each transaction.
    """

    def __init__(self, chain_id: int, accounts: Mapping[bytes, EvmAccount], clock: Callable[[], int]) -> None:
        self.chain_id = chain_id
        self.on_mined: Callable[[Mined], None] | None = None
        self._clock = clock
        parameters = {
            "coinbase": Address(bytes(20)),
            "difficulty": POST_MERGE_DIFFICULTY,
            "extra_data": b"",
            "gas_limit": BLOCK_GAS,
            "mix_hash": POST_MERGE_MIX_HASH,
            "nonce": POST_MERGE_NONCE,
            "timestamp": clock(),
        }
        state = {
            Address(address): {
                "balance": account.balance,
                "code": account.code,
                "nonce": 1 if account.code else 0,
                "storage": dict(account.storage),
            }
            for address, account in accounts.items()
        }
        kind: Any = type("EvmChain", (_CancunChain,), {"chain_id": chain_id})
        self._chain: MiningChain = kind.from_genesis(AtomicDB(), parameters, state)
        self._blocks = [self._chain.get_canonical_block_by_number(0)]
        self._numbers = {self._blocks[0].hash: 0}
        self._transactions: dict[bytes, Mined] = {}

    @property
    def height(self) -> int:
        """The number of the latest block."""
        return len(self._blocks) - 1

    @property
    def base_fee(self) -> int:
        """The base fee of the next block, wei per gas."""
        fee: int = self._next_header(self.height).base_fee_per_gas
        return fee

    def block(self, number: int) -> BlockAPI:
        """Return the block with a number, which exists."""
        return self._blocks[number]

    def number_of(self, block_hash: bytes) -> int | None:
        """Return the number of the block with a hash; None if there is none."""
        return self._numbers.get(block_hash)

    def mined(self, transaction_hash: bytes) -> Mined | None:
        """Return the transaction with a hash; None if there is none."""
        return self._transactions.get(transaction_hash)

    def between(self, first: int, last: int) -> Iterator[Mined]:
        """Yield the transactions from one block to another one, as far as they exist."""
        for block in self._blocks[first : last + 1]:
            for transaction in block.transactions:
                yield self._transactions[transaction.hash]

    def state(self, number: int) -> StateAPI:
        """Return the state after a block."""
        return self._state(self._next_header(number))

    def send(self, raw: bytes) -> Mined:
        """Mine a signed transaction. Raises Refused."""
        transaction = self._decoded(raw)
        self._check(transaction)
        header = self._next_header(self.height)
        try:
            self._chain.header = header
            _, receipt, _ = self._chain.apply_transaction(transaction)
            block = self._chain.mine_block(mix_hash=secrets.token_bytes(32))
        except ValidationError as error:
            raise EvmRefusal(str(error)) from None
        mined = Mined(block, transaction, receipt)
        self._numbers[block.hash] = len(self._blocks)
        self._blocks.append(block)
        self._transactions[transaction.hash] = mined
        if self.on_mined is not None:
            self.on_mined(mined)
        return mined

    def call(self, simulated: Simulated, number: int) -> bytes:
        """Return what a transaction would return after a block. Raises EvmRefusal or SimulationReverted."""
        output: bytes = self._simulate(simulated, number, simulated.gas).output
        return output

    def estimate(self, simulated: Simulated, number: int) -> int:
        """Return the least gas with which a transaction succeeds. Raises EvmRefusal or SimulationReverted."""
        computation = self._simulate(simulated, number, simulated.gas)
        used: int = computation.get_gas_used()
        guess = (used + computation.get_gas_refund() + _CALL_STIPEND) * 64 // 63
        low, high = used - 1, simulated.gas
        if guess < high and self._succeeds(simulated, number, guess):
            high = guess
        while high - low > 1:
            middle = (low + high) // 2
            if self._succeeds(simulated, number, middle):
                high = middle
            else:
                low = middle
        return high

    def _succeeds(self, simulated: Simulated, number: int, gas: int) -> bool:
        try:
            self._simulate(simulated, number, gas)
        except (EvmRefusal, SimulationReverted):
            return False
        return True

    def _simulate(self, simulated: Simulated, number: int, gas: int) -> ComputationAPI:
        state = self._state(self._next_header(number).copy(base_fee_per_gas=0))
        sender = Address(simulated.sender)
        unsigned = CancunVM.create_unsigned_transaction(
            nonce=state.get_nonce(sender),
            gas_price=0,
            gas=gas,
            to=Address(simulated.to),
            value=simulated.value,
            data=simulated.data,
        )
        try:
            computation = state.apply_transaction(SpoofTransaction(unsigned, from_=sender))
        except ValidationError as error:
            raise EvmRefusal(str(error)) from None
        if computation.is_error:
            raise _reverted(computation.error)
        return computation

    def _decoded(self, raw: bytes) -> SignedTransactionAPI:
        if len(raw) > MAX_TRANSACTION:
            raise EvmRefusal(f"the transaction has {len(raw)} bytes; at most {MAX_TRANSACTION} are allowed")
        if raw[:1] == bytes([_BLOB_TYPE]):
            raise EvmRefusal("this chain takes no blob transactions")
        try:
            transaction = CancunVM.get_transaction_builder().decode(raw)
            transaction.validate()
            transaction.check_signature_validity()
            transaction.sender  # noqa: B018  (raises for a signature that recovers to no key)
        except _MALFORMED as error:
            text = str(error)[:200] or type(error).__name__
            raise EvmRefusal(f"this is not a signed transaction: {text}") from None
        return transaction

    def _check(self, transaction: SignedTransactionAPI) -> None:
        """Raise Refused for what a user may get wrong, in the words of other nodes."""
        state, sent, gas = self.state(self.height), transaction.nonce, transaction.gas
        nonce, balance = state.get_nonce(transaction.sender), state.get_balance(transaction.sender)
        price = getattr(transaction, "max_fee_per_gas", None) or transaction.gas_price
        cost, base, least = gas * price + transaction.value, self.base_fee, transaction.intrinsic_gas
        chain_id, nonces = transaction.chain_id, f"the next one is {nonce}, the transaction has {sent}"
        faults = (
            (
                self.height >= MAX_EVM_BLOCKS,
                f"the chain has reached its maximum of {MAX_EVM_BLOCKS} blocks: start it again",
            ),
            (chain_id != self.chain_id, f"invalid chain id: it is for {chain_id}, not {self.chain_id}"),
            (transaction.hash in self._transactions, "already known"),
            (sent < nonce, f"nonce too low: {nonces}"),
            (sent > nonce, f"nonce too high: {nonces}; this chain keeps none for later"),
            (cost > balance, f"insufficient funds for gas * price + value: {cost} wei of {balance}"),
            (price < base, f"max fee per gas less than block base fee: {price} is less than {base}"),
            (gas > BLOCK_GAS, f"exceeds block gas limit: {gas} is more than {BLOCK_GAS}"),
            (gas < least, f"intrinsic gas too low: it takes at least {least}"),
        )
        for is_broken, text in faults:
            if is_broken:
                raise EvmRefusal(text)

    def _next_header(self, number: int) -> BlockHeaderAPI:
        """Return the header of a block on top of a block."""
        parent = self._blocks[number].header
        time = max(parent.timestamp + 1, self._clock())
        return self._chain.create_header_from_parent(parent, timestamp=time)

    def _state(self, header: BlockHeaderAPI) -> StateAPI:
        return self._chain.get_vm(header).state


def _reverted(error: VMError) -> SimulationReverted:
    """Return the error of a simulation, with the contract's own text if it has one."""
    if not isinstance(error, Revert):
        return SimulationReverted(b"", type(error).__name__ if not error.args else str(error.args[0])[:200])
    data = bytes(error.args[0]) if error.args and isinstance(error.args[0], bytes) else b""
    return SimulationReverted(data, "execution reverted")
