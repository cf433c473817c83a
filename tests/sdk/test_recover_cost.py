"""`cfnode recover` costs no more than it brings, and believes no number of a provider that cannot be true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfnode.cli.exits import ExitCode
from cfnode.core.assets import gas_asset
from cfnode.core.vault_calls import NATIVE_TOKEN, TransferParams
from cfnode.core.vault_calls import transfer_fallback as fallback
from cfnode.sdk.recovery import FailedCall, PrepareTransaction, TooExpensive
from cfnode.sdk.recovery.cost import MAX_FEE_PERCENT
from cfnode.sdk.recovery.gas import MAX_TIP, TIP_HISTORY_BLOCKS, TIP_PERCENTILE
from tests.sdk.anvil import USER, Evm, evm_chain, require_eth_account
from tests.sdk.scripted import Script, session
from tests.support.sdk.payloads import NAMES, payload_of, raw, vector
from tests.support.sdk.providers import lying, message, offered, report, transfer
from tests.support.sdk.recover_command import ETHER, ended, recover, state_chain

GWEI = 10**9
EVM = "http://evm.test"


# A provider that lies about fees


def test_a_tip_of_a_lie_is_not_paid(evm: Evm, key: Path) -> None:
    """By such a tip the gas of a payment of 0.29 ETH once cost 90."""
    amount = 29 * ETHER // 100
    receiver, test_vector = transfer(amount)
    before = evm.balance(USER)
    history = evm.call("eth_feeHistory", hex(TIP_HISTORY_BLOCKS), "latest", [TIP_PERCENTILE])
    paid = max(int(row[0], 16) for row in history["reward"])
    with state_chain(test_vector) as server, lying(evm, eth_maxPriorityFeePerGas=hex(10**15)) as proxy:
        done = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes", "--json")
    ended(done, ExitCode.OK)
    assert int(report(done)["transaction"]["maxPriorityFeePerGas"], 16) == min(MAX_TIP, paid or MAX_TIP)
    assert evm.balance(receiver) == amount
    assert 0 < before - evm.balance(USER) < amount // 100


def base_fee(wei: int) -> Any:
    """Return a lie about the base fee of a block."""
    return lambda block: block | {"baseFeePerGas": hex(wei)}


def test_gas_above_a_tenth_of_the_payment_is_refused_or_asked_about(evm: Evm, key: Path) -> None:
    """Refuse gas above a tenth of the payment, unless the person agrees or sets a maximum."""
    amount = 53 * ETHER // 10_000
    receiver, test_vector = transfer(amount)
    with state_chain(test_vector) as server, lying(evm, eth_getBlockByNumber=base_fee(150 * GWEI)) as proxy:
        send = ("--eth-rpc", proxy.url, "--key", str(key))
        refused = recover(server, *send, "--yes", "--json")
        ended(refused, ExitCode.TOO_EXPENSIVE)
        said = report(refused)
        cost = int(said["highestCostWei"])
        assert cost > amount * MAX_FEE_PERCENT // 100
        assert said["error"]["code"] == "TOO_EXPENSIVE"
        assert f"{-(-cost * 100 // amount)} % of the payment of 0.0053 ETH" in said["error"]["message"]
        assert "--max-fee" in said["error"]["message"]

        declined = recover(server, *send, typed="n\n")
        ended(declined, ExitCode.OK, "% of the payment", "Send it nevertheless?", "Nothing was sent.")
        dry = recover(server, *send, "--dry-run")
        ended(dry, ExitCode.OK, "Warning: the gas may cost", "Nothing was sent.")
        assert evm.balance(receiver) == 0

        done = recover(server, *send, "--yes", "--max-fee", "0.1")
        ended(done, ExitCode.OK, "Done: 0.0053 ETH")
    assert evm.balance(receiver) == amount


def test_a_maximum_fee_of_ones_own_is_kept(evm: Evm, key: Path) -> None:
    """Hold to the person's own maximum fee, and refuse a negative one."""
    receiver, test_vector = transfer(50 * ETHER)
    with state_chain(test_vector) as server:
        send = ("--eth-rpc", evm.url, "--key", str(key), "--yes")
        refused = recover(server, *send, "--max-fee", "0.00000000000001")
        ended(refused, ExitCode.TOO_EXPENSIVE, "more than the maximum fee of 0.00000000000001 ETH")
        assert evm.balance(receiver) == 0
        ended(recover(server, "--max-fee", "1"), ExitCode.USAGE)
        ended(recover(server, *send, "--max-fee", "-1"), ExitCode.USAGE)
        ended(recover(server, *send, "--max-fee", "0.01"), ExitCode.OK, "Done")


def test_a_message_without_money_is_asked_about(evm: Evm, key: Path) -> None:
    """Ask before a message without money is sent, which nothing pays for."""
    listener = evm.deploy("Listener")
    with state_chain(message(listener, 0)) as server:
        send = ("--eth-rpc", evm.url, "--key", str(key))
        ended(recover(server, *send, "--yes"), ExitCode.TOO_EXPENSIVE, "more than the whole")
        ended(recover(server, *send, typed="y\n"), ExitCode.OK, "Send it nevertheless?", "Done")


# A provider that lies about gas


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (hex(21_000), "21000: this call takes at least"),
        (hex(10**9), "more than a block holds"),
        ("-0x5208", "not a whole number"),
        (True, "True, which is not a whole number"),
        (None, "None, which is not a whole number"),
    ],
)
def test_an_estimate_that_cannot_be_true(estimate: Any, words: str, evm: Evm, key: Path) -> None:
    """Refuse an estimate of gas that is below any transfer, above a block or no number."""
    receiver, test_vector = transfer()
    with state_chain(test_vector) as server, lying(evm, eth_estimateGas=estimate) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes")
    ended(result, ExitCode.NETWORK, "eth_estimateGas", words, "use another node")
    assert (evm.balance(receiver), any(b"eth_sendRaw" in request.body for request in proxy.requests)) == (
        0,
        False,
    )


@pytest.mark.parametrize(
    ("method", "lie", "words"),
    [
        ("eth_getBlockByNumber", lambda block: block | {"baseFeePerGas": "cheap"}, "baseFeePerGas 'cheap'"),
        ("eth_getBlockByNumber", lambda block: block | {"gasLimit": None}, "gasLimit None"),
        ("eth_getBlockByNumber", None, "eth_getBlockByNumber no block"),
        ("eth_maxPriorityFeePerGas", "0x", "eth_maxPriorityFeePerGas '0x'"),
        ("eth_feeHistory", {"reward": [["dear"]]}, "eth_feeHistory: reward 'dear'"),
        ("eth_getBalance", [], "eth_getBalance []"),
        ("eth_getTransactionCount", hex(2**64), "which is not a whole number of at most 64 bits"),
    ],
)
def test_a_malformed_number_is_named_by_its_method_and_member(
    method: str, lie: Any, words: str, evm: Evm, key: Path
) -> None:
    """Name method and member of a number that is malformed."""
    with state_chain(transfer()[1]) as server, lying(evm, **{method: lie}) as proxy:
        result = recover(server, "--eth-rpc", proxy.url, "--key", str(key), "--yes")
    ended(result, ExitCode.NETWORK, words, proxy.url)


# A chain without EIP-1559


@pytest.mark.world
def test_a_chain_without_base_fees(key: Path, tmp_path: Path) -> None:
    """Send a legacy transaction on a chain whose blocks have no base fee."""
    require_eth_account()
    test_vector = offered(fallback(TransferParams(NATIVE_TOKEN, b"\xaa" * 20, ETHER)))
    with (
        evm_chain(31337, tmp_path / "anvil.log", "--hardfork", "berlin") as evm,
        state_chain(test_vector) as server,
    ):
        evm.deploy_bed(raw(vector("native-ethereum-even-key")["agg_key"]["compressed"]), 2 * ETHER)
        assert evm.call("eth_getBlockByNumber", "latest", False).get("baseFeePerGas") is None
        done = recover(server, "--eth-rpc", evm.url, "--key", str(key), "--yes", "--json")
        ended(done, ExitCode.OK)
        fields, sent = report(done)["transaction"], evm.call("eth_getTransactionByHash", report(done)["hash"])
        assert ("gasPrice" in fields, "maxFeePerGas" in fields) == (True, False)
        assert int(sent["type"], 16) == 0
        assert evm.balance("0x" + "aa" * 20) == ETHER


# By what the payment is worth


class Provider(Script):
    """A State Chain and an EVM node in one, with chosen answers."""

    def prepare(self, name: str = NAMES[0], **options: Any) -> Any:
        """Prepare a transaction for a payload of the vectors."""
        test_vector = vector(name)
        manager = raw(test_vector["inputs"]["key_manager"])
        failed = FailedCall(
            payload_of(test_vector), raw(test_vector["agg_key"]["compressed"]), manager, 6, 6, None
        )
        return self.run(PrepareTransaction(failed, EVM, b"\x11" * 20, **options), session())


def answers(gas: int, base: int | None, tip: int, limit: int = 30_000_000) -> dict[str, Any]:
    """Return a provider's answers about gas and fees."""
    return {
        "eth_call": "0x",
        "eth_estimateGas": hex(gas),
        "eth_feeHistory": {"reward": [[hex(tip)]]},
        "eth_gasPrice": hex(tip),
        "eth_getBalance": hex(2**200),
        "eth_getBlockByNumber": {"gasLimit": hex(limit)}
        | ({} if base is None else {"baseFeePerGas": hex(base)}),
        "eth_getTransactionCount": "0x1",
        "eth_maxPriorityFeePerGas": hex(tip),
    }


def test_a_token_is_worth_what_the_pools_give_for_it() -> None:
    """Value a token by the State Chain's pools, and refuse gas above a tenth of that."""
    name = "token-ethereum-odd-key"
    gas, base = 90_000, 10 * GWEI
    most = 120_000 * (2 * base + GWEI)
    for output, fits in ((most * 10, True), (most * 10 - 1, False)):
        script = Provider(
            answers(gas, base, GWEI) | {"cf_swap_rate": {"intermediary": None, "output": hex(output)}}
        )
        if fits:
            assert script.prepare(name).highest_cost == most
        else:
            with pytest.raises(TooExpensive, match=r"11 % of the payment of .* \(worth"):
                script.prepare(name)
        (asked,) = [request["params"] for request in script.requests if request["method"] == "cf_swap_rate"]
        assert asked[1] == {"chain": "Ethereum", "asset": gas_asset("Ethereum").symbol}


@pytest.mark.parametrize("output", [None, "-0x1", True])
def test_a_token_without_a_price_needs_a_maximum_fee(output: Any) -> None:
    """Demand a maximum fee for a token that has no price."""
    script = Provider(answers(90_000, GWEI, GWEI) | {"cf_swap_rate": {"output": output}})
    with pytest.raises(TooExpensive, match="name the maximum fee"):
        script.prepare("token-ethereum-odd-key")
    assert script.prepare("token-ethereum-odd-key", max_fee=ETHER).highest_cost < ETHER
