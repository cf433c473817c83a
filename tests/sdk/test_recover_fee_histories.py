"""The cost of a recovery exceeds its maximum in no history of fees, and by no lie of a provider.

Some fifty histories and twenty-five providers in an ordinary run, 500 and 100 with `--all`.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from cfnode.core.vault_calls import NATIVE_TOKEN
from cfnode.sdk.errors import BadAnswer, SdkError
from cfnode.sdk.recovery import FailedCall, Payload, PrepareTransaction, TooExpensive, UnsignedTransaction
from cfnode.sdk.recovery.cost import MAX_FEE_PERCENT
from cfnode.sdk.recovery.gas import MAX_TIP, TIP_HISTORY_BLOCKS
from cfnode.swaps.checksums import checksum_address
from tests.lengths import repeats
from tests.sdk.scripted import Script, session
from tests.support.sdk.payloads import NAMES, payload_of, raw, vector

EVM = "http://evm.test"
SENDER = b"\x11" * 20
GWEI = 10**9
FULL = 30_000_000
NONCE = 7
ODD: tuple[Any, ...] = (None, True, -1, 0, "", "0x", "0x1g", "-0x5208", "1e18", [], {}, 2**300, "a block")
"""Answers that are no number, or none that can be true."""


@dataclass(frozen=True)
class Fee:
    """The fees of a block, in wei per gas; `base` is None without EIP-1559."""

    base: int | None
    tip: int

    @property
    def price(self) -> int:
        """Gas price of a legacy transaction in the block, in wei."""
        return (self.base or 0) + self.tip


def history(random: Random) -> list[Fee]:
    """Return the fees of some hundred blocks, by the rule of EIP-1559: calm, a rush, or a collapse."""
    base = random.choice([7, random.randrange(1, 10 ** random.randrange(1, 14))])
    tip = random.randrange(10 ** random.randrange(1, 12))
    if random.random() < 0.2:
        return [Fee(None, random.randrange(1, 10 ** random.randrange(2, 13))) for _ in range(150)]
    fees, fullness = list[Fee](), 0.5
    for block in range(150):
        if block % 25 == 0:
            fullness = random.choice([0.5, 1.0, 1.0, 0.0])
        used = int(FULL * min(max(fullness + random.uniform(-0.1, 0.1), 0), 1))
        base = max(base + base * (used - FULL // 2) // (FULL // 2) // 8, 7)
        fees.append(Fee(base, tip * random.choice([1, 1, 1, 2, 50])))
    return fees


class Provider(Script):
    """A State Chain with honest prices, and an EVM node: a block at a time, and the sender's transaction."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        test_vector = vector(random.choice(NAMES))
        manager, key = raw(test_vector["inputs"]["key_manager"]), raw(test_vector["agg_key"]["compressed"])
        self.failed = FailedCall(payload_of(test_vector), key, manager, 6, 6, None)
        self.worth = self.payload.transfer.amount
        if self.payload.transfer.token != NATIVE_TOKEN:
            self.worth = random.randrange(10 ** random.randrange(12, 20))
        self.max_fee = random.choice([None, random.randrange(1, 10 ** random.randrange(15, 20))])
        self.gas = random.randrange(60_000, 10 ** random.randrange(5, 8))
        self.fee = Fee(GWEI, GWEI)
        self.past = list[Fee]()
        self.pending: UnsignedTransaction | None = None

    @property
    def payload(self) -> Payload:
        """Payload of the call."""
        return self.failed.payload

    @property
    def maximum(self) -> int:
        """Maximum cost of the gas, in wei."""
        return self.worth * MAX_FEE_PERCENT // 100 if self.max_fee is None else self.max_fee

    def prepare(self, *, replace: bool = False) -> UnsignedTransaction:
        """Prepare a transaction of the call, or one that replaces the pending one."""
        wanted = PrepareTransaction(self.failed, EVM, SENDER, replace=replace, max_fee=self.max_fee)
        return self.run(wanted, session())

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request["id"], "result": self.result(**request)}

    def result(self, method: str, params: list[Any], **_: Any) -> Any:
        """Return the answer to a request."""
        if method == "eth_getBlockByNumber":
            return self._block(params[0])
        if method == "eth_getTransactionCount":
            return hex(NONCE + (params[1] == "pending" and self.pending is not None))
        return {
            "cf_swap_rate": {"intermediary": None, "output": hex(self.worth)},
            "eth_call": "0x",
            "eth_estimateGas": hex(self.gas),
            "eth_feeHistory": {"reward": [[hex(fee.tip)] for fee in self.past[-TIP_HISTORY_BLOCKS:]]},
            "eth_gasPrice": hex(self.fee.price),
            "eth_getBalance": hex(2**200),
            "eth_maxPriorityFeePerGas": hex(self.fee.tip),
            "txpool_contentFrom": {},
        }[method]

    def _block(self, at: str) -> dict[str, Any]:
        base = {} if self.fee.base is None else {"baseFeePerGas": hex(self.fee.base)}
        waiting = [_listed(self.pending)] if self.pending is not None and at == "pending" else []
        return {"gasLimit": hex(FULL), "transactions": waiting} | base

    def charged(self, sent: UnsignedTransaction) -> int | None:
        """Return a block's charge for a transaction that uses all its gas; None if it leaves it out."""
        fields, base = sent.fields(), self.fee.base or 0
        highest: int = fields["gasPrice"] if sent.is_legacy else fields["maxFeePerGas"]
        tip = fields.get("maxPriorityFeePerGas", highest)
        return None if highest < max(base, 1) else fields["gas"] * min(highest, base + tip)


def _listed(sent: UnsignedTransaction) -> dict[str, Any]:
    """Return a transaction of the sender, as a node lists it in its pending block."""
    fields = {name: hex(value) if isinstance(value, int) else value for name, value in sent.fields().items()}
    data = fields.pop("data")
    return fields | {"from": checksum_address(SENDER), "hash": "0x" + "77" * 32, "input": data}


def recovered(provider: Provider, fees: list[Fee]) -> int | None:
    """Return the fee that a recovery pays in these blocks, in which it may raise it; None for none."""
    random, sent = provider.random, None
    for number, fee in enumerate(fees):
        provider.fee, provider.past = fee, fees[:number]
        if sent is None or random.random() < 0.1:
            try:
                sent = provider.prepare(replace=sent is not None)
            except (TooExpensive, BadAnswer):
                continue
            assert (sent.nonce, sent.fields()["value"]) == (NONCE, 0)
            assert sent.highest_cost <= provider.maximum
            if provider.pending is None and not sent.is_legacy:
                paid_tips = [past.tip for past in provider.past[-TIP_HISTORY_BLOCKS:]]
                assert sent.max_priority_fee_per_gas <= max(fee.base or 0, MAX_TIP)
                assert sent.max_priority_fee_per_gas <= (max(paid_tips, default=0) or fee.tip)
            provider.pending = sent
        elif random.random() < 0.1 and (paid := provider.charged(sent)) is not None:
            return paid
    return None


def test_the_cost_exceeds_the_maximum_in_no_history_of_fees() -> None:
    """Of each recovery one transaction is in a block: those that it replaces have its nonce."""
    count, paid, unpaid = repeats(500, 50), 0, 0
    for seed in range(count):
        provider = Provider(random := Random(seed))
        cost = recovered(provider, history(random))
        assert cost is None or cost <= provider.maximum, seed
        paid, unpaid = paid + (cost is not None), unpaid + (cost is None)
    assert min(paid, unpaid) > count // 10


class LyingProvider(Provider):
    """A provider that lies about some methods, each time in another way or always in the same."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        methods = ["eth_call", "eth_estimateGas", "eth_gasPrice", "eth_getBalance", "eth_getBlockByNumber"]
        methods += ["eth_feeHistory", "eth_getTransactionCount", "eth_maxPriorityFeePerGas"]
        self.lies = {method: self._lie() for method in random.sample(methods, random.randint(1, 3))}
        self.is_steady = random.random() < 0.5

    def _lie(self) -> Any:
        number = self.random.randrange(10 ** self.random.randrange(1, 25))
        near = self.random.randrange(10 ** self.random.randrange(5, 11))
        return self.random.choice([self.random.choice(ODD), hex(number), hex(near), hex(near)])

    def result(self, method: str, params: list[Any], **more: Any) -> Any:
        """Return a lie, or the answer."""
        if method not in self.lies:
            return super().result(method, params, **more)
        lie = self.lies[method] if self.is_steady else self._lie()
        if method == "eth_getBlockByNumber" and self.random.random() < 0.8:
            members = {
                field: self.random.choice([lie, self._lie()]) for field in ("baseFeePerGas", "gasLimit")
            }
            return super().result(method, params) | members | {"transactions": [self._waiting()]}
        return {"reward": [[lie]]} if method == "eth_feeHistory" and self.random.random() < 0.8 else lie

    def _waiting(self) -> dict[str, Any]:
        """Return a transaction of the sender that makes the payment, and that was never sent."""
        payload = self.payload
        unsigned = UnsignedTransaction(payload.chain_id, payload.vault, payload.data, NONCE, self.gas, 1, 1)
        return _listed(unsigned) | {"maxFeePerGas": self._lie(), "maxPriorityFeePerGas": self._lie()}


@pytest.mark.parametrize("replace", [False, True])
def test_no_provider_that_lies_makes_it_cost_more_than_the_maximum(*, replace: bool) -> None:
    """None makes it fail in an unknown way, either."""
    count, sent = repeats(100, 25), 0
    for seed in range(count):
        provider = LyingProvider(Random(seed))
        if replace:
            payload = provider.payload
            provider.pending = UnsignedTransaction(
                payload.chain_id, payload.vault, payload.data, NONCE, provider.gas, GWEI, GWEI
            )
        try:
            transaction = provider.prepare(replace=replace)
        except SdkError:
            continue
        sent += 1
        fields = transaction.fields()
        cost = fields["gas"] * fields.get("maxFeePerGas", fields.get("gasPrice"))
        assert cost == transaction.highest_cost
        assert cost <= provider.maximum, (seed, provider.lies)
        assert (fields["to"], fields["value"]) == (checksum_address(provider.payload.vault), 0)
    assert sent > count // 20
