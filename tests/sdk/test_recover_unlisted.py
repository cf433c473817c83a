"""Calls that the State Chain does not list, of aborted batches and on BSC, are found, explained and sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from cfnode.core.vault_calls import NATIVE_TOKEN, TransferParams, VaultCall, all_batch
from cfnode.core.vault_calls import transfer_fallback as fallback
from cfnode.swaps.checksums import checksum_address
from tests.conftest import shared
from tests.process import NodeProcess
from tests.sdk.anvil import DEPLOYER, VAULT, Evm, evm_chain, require_anvil, require_eth_account
from tests.sdk.loopback import Request, page, serving
from tests.sdk.place import node_with_broker
from tests.support.sdk.failed_swaps import BLOCKS, BTC, NO_SERVER, REFUND
from tests.support.sdk.payloads import node as state_chain
from tests.support.sdk.payloads import raw
from tests.support.sdk.providers import NONCES, error, offered, provider
from tests.support.sdk.recover_command import ETHER

DEPOSIT = "0x" + "d1" * 32


def receivers(count: int) -> list[str]:
    """Return addresses that nothing was paid to."""
    return [f"0x{next(NONCES):040x}" for _ in range(count)]


def spelled(address: str) -> str:
    """Return an address with its checksum."""
    return checksum_address(raw(address))


def status(chain: str, receiver: str, amount: int, test_vector: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a swap that paid a receiver, with the signed transaction of its payout."""
    document = json.loads(shared("sdk-examples", "status-v2.json").read_text())
    swap: dict[str, Any] = document["states"]["FAILED_broadcast_aborted"]
    result = test_vector["rpc_result"]
    swap["swapEgress"] |= {
        "amount": str(amount),
        "transactionPayload": {
            "contract": result["contract"],
            "data": "0x" + result["data"],
            "value": "0",
            "chainId": str(result["chain_id"]),
        },
    }
    asset = "BNB" if chain == "Bsc" else "ETH"
    return swap | {"destChain": chain, "destAsset": asset, "destAddress": receiver}


def forgetful_chain(chain: str, test_vector: dict[str, Any], swap: dict[str, Any]) -> Any:
    """Return a State Chain that lists no failed call and has pruned all events, and a swap service."""
    script = state_chain(test_vector | {"rpc_method": f"cf_failed_call_{chain.lower()}"}, offered=False)
    pruned = {"error": {"code": 4003, "message": "State already discarded"}}

    def reply(call: dict[str, Any]) -> dict[str, Any]:
        if call["method"] == "state_getRuntimeVersion":
            return {"jsonrpc": "2.0", "id": call["id"]} | pruned
        return script._reply(call)

    def handle(request: Request) -> bytes:
        if request.line.startswith("GET"):
            return page(200, json.dumps(swap).encode())
        return page(200, json.dumps([reply(call) for call in request.calls]).encode())

    return serving(handle)


def recover(url: str, *arguments: str, owner: str = DEPOSIT) -> Result:
    """Run `cfnode recover --for` a deposit's transaction with one server as node and swap service."""
    line = ["recover", "--for", owner, "--node", url, "--backend", url, *arguments]
    return CliRunner().invoke(cli, line)


@pytest.mark.parametrize("chain", ["Ethereum", "Arbitrum", "Bsc"])
def test_an_aborted_batch_pays_all_its_receivers(chain: str, evm: Evm, key: Path) -> None:
    """Name all receivers of an aborted batch, pay each exactly, and only once."""
    a, b, c = receivers(3)
    paid = {a: 3 * ETHER, b: 2 * ETHER, c: ETHER}
    call = all_batch([], [], [TransferParams(NATIVE_TOKEN, raw(to), amount) for to, amount in paid.items()])
    ours, amount = b, paid[b]
    test_vector = offered(call)
    with forgetful_chain(chain, test_vector, status(chain, ours, amount, test_vector)) as server:
        coin = "BNB" if chain == "Bsc" else "ETH"
        printed = recover(server.url)
        assert printed.exit_code == ExitCode.OK, printed.output
        assert f"2 {coin} on {chain}" in printed.output
        assert [line.split()[0] for line in printed.output.splitlines()[:3]] == ["pays", "to", "until"]
        others = [line.removeprefix("also pays").strip() for line in printed.output.splitlines()[3:5]]
        assert others == [f"3 {coin} to {spelled(a)}", f"1 {coin} to {spelled(c)}"]
        done = recover(server.url, "--eth-rpc", evm.url, "--key", str(key), "--yes", "--json")
        assert done.exit_code == ExitCode.OK, done.output
        assert {to: evm.balance(to) for to in paid} == paid
        transfers = json.loads(done.stdout)["payload"]["transfers"]
        assert [int(transfer["amount"]) for transfer in transfers] == list(paid.values())
        again = recover(server.url, "--eth-rpc", evm.url, "--key", str(key), "--yes")
        assert again.exit_code == ExitCode.ALREADY_SENT, again.output
        words = " ".join(again.output.split())
        assert "each receiver that took its transfer has been paid" in words
        assert "so the receiver has been paid; nothing is left to do" not in words
    assert {to: evm.balance(to) for to in paid} == paid


@pytest.mark.parametrize("is_token", [False, True])
def test_a_batch_that_would_leave_the_transfer_out_is_not_offered(
    is_token: bool, evm: Evm, key: Path
) -> None:
    """The other receiver is still led to it."""
    (other,), refusing = receivers(1), evm.deploy("Moody")
    token = raw(evm.deploy("Moody")) if is_token else NATIVE_TOKEN
    refused = TransferParams(token, raw(refusing), 2 * ETHER)
    test_vector = offered(all_batch([], [], [refused, TransferParams(NATIVE_TOKEN, raw(other), ETHER)]))
    send = ("--eth-rpc", evm.url, "--key", str(key), "--yes")
    with forgetful_chain(
        "Ethereum", test_vector, status("Ethereum", refusing, 2 * ETHER, test_vector)
    ) as server:
        result = recover(server.url, *send)
        assert result.exit_code == ExitCode.WOULD_REVERT, result.output
        words = " ".join(result.output.split())
        assert "the vault would take the batch, and leave out the transfer of 2" in words
        assert f"to {spelled(refusing)}: sending it now would fail" in words
    assert evm.balance(other) == 0
    with forgetful_chain("Ethereum", test_vector, status("Ethereum", other, ETHER, test_vector)) as server:
        printed = recover(server.url)
        assert f"Send it: cfnode recover --for {DEPOSIT} " in " ".join(printed.output.split())
        result = recover(server.url, *send)
        assert result.exit_code == ExitCode.OK, result.output
    assert (evm.balance(other), evm.balance(refusing)) == (ETHER, 0)


def test_a_batch_of_which_half_was_paid_since(evm: Evm, key: Path) -> None:
    """Another account has sent it, and one receiver rejected its transfer, which gets its own call."""
    (other,), refusing = receivers(1), evm.deploy("Moody")
    half = TransferParams(NATIVE_TOKEN, raw(refusing), ETHER)
    test_vector = offered(all_batch([], [], [half, TransferParams(NATIVE_TOKEN, raw(other), ETHER)]))
    evm.submit({"from": DEPLOYER, "to": VAULT, "data": "0x" + test_vector["rpc_result"]["data"]})
    for receiver, amount in ((other, ETHER), (refusing, 0)):
        with forgetful_chain(
            "Ethereum", test_vector, status("Ethereum", receiver, ETHER, test_vector)
        ) as server:
            result = recover(server.url, "--eth-rpc", evm.url, "--key", str(key), "--yes")
        assert result.exit_code == ExitCode.ALREADY_SENT, result.output
        assert "receiver that rejected it gets a call of its own" in " ".join(result.output.split())
        assert evm.balance(receiver) == amount
    own = offered(fallback(half))
    with forgetful_chain("Ethereum", own, status("Ethereum", refusing, ETHER, own)) as server:
        result = recover(server.url, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    assert result.exit_code == ExitCode.WOULD_REVERT, result.output


@pytest.mark.parametrize("replaces_code", [True, False])
@pytest.mark.parametrize("is_token", [False, True])
def test_a_transfer_of_a_batch_is_simulated_as_the_vault_makes_it(
    is_token: bool, replaces_code: bool, evm: Evm
) -> None:
    """With the vault's gas for coins, also at a node that replaces no code, and with a token's answer."""
    (other,), counting = receivers(1), evm.deploy("Counter")
    token = raw(evm.deploy("Stubborn")) if is_token else NATIVE_TOKEN
    left_out = TransferParams(token, raw(counting), ETHER)
    test_vector = offered(all_batch([], [], [left_out, TransferParams(NATIVE_TOKEN, raw(other), ETHER)]))

    def refuse(document: Any) -> Any:
        is_replacing = document["method"] == "eth_call" and len(document["params"]) > 2
        return error(-32602, "too many arguments") if is_replacing and not replaces_code else None

    with (
        forgetful_chain("Ethereum", test_vector, status("Ethereum", counting, ETHER, test_vector)) as server,
        provider(evm, refuse) as node,
    ):
        result = recover(server.url, "--eth-rpc", node.url)
    assert result.exit_code == ExitCode.WOULD_REVERT, result.output
    reason = "the token returns false for it" if is_token else "the receiver needs more gas than the 8,000"
    assert f"to {spelled(counting)}: " in " ".join(result.output.split())
    assert reason in " ".join(result.output.split())
    with forgetful_chain("Ethereum", test_vector, status("Ethereum", other, ETHER, test_vector)) as server:
        assert recover(server.url, "--eth-rpc", evm.url).exit_code == ExitCode.OK


def test_a_failed_transfer_on_bsc(evm: Evm, key: Path) -> None:
    """Pay a failed transfer on BSC to the wei."""
    (receiver,) = receivers(1)
    test_vector = offered(fallback(TransferParams(NATIVE_TOKEN, raw(receiver), 1_438_296_932_694_476_996)))
    with forgetful_chain(
        "Bsc", test_vector, status("Bsc", receiver, 1_438_296_932_694_476_996, test_vector)
    ) as server:
        done = recover(server.url, "--eth-rpc", evm.url, "--key", str(key), "--yes")
    assert done.exit_code == ExitCode.OK, done.output
    assert "Done: 1.438296932694476996 BNB" in done.output
    assert evm.balance(receiver) == 1_438_296_932_694_476_996


def changed(call: VaultCall) -> dict[str, Any]:
    """Return an offer whose last digit was changed."""
    test_vector = offered(call)
    data = test_vector["rpc_result"]["data"]
    return test_vector | {
        "rpc_result": test_vector["rpc_result"] | {"data": data[:-1] + ("1" if data[-1] == "0" else "0")}
    }


def test_a_service_that_changes_a_call_is_refused(evm: Evm) -> None:
    """It pays one wei more than Chainflip has signed."""
    (receiver,) = receivers(1)
    test_vector = changed(fallback(TransferParams(NATIVE_TOKEN, raw(receiver), ETHER)))
    with forgetful_chain("Bsc", test_vector, status("Bsc", receiver, ETHER + 1, test_vector)) as server:
        for more in ((), ("--eth-rpc", evm.url)):
            result = recover(server.url, *more)
            assert result.exit_code == ExitCode.BAD_PAYLOAD, result.output
    with forgetful_chain("Bsc", test_vector, status("Bsc", receiver, ETHER, test_vector)) as server:
        result = recover(server.url)
        assert (result.exit_code, "it has expired" in result.output) == (ExitCode.EXPIRED, True)


@pytest.mark.world
def test_an_aborted_batch_of_a_development_chain(key: Path, tmp_path: Path) -> None:
    """Found in the chain's own events, without a swap service."""
    require_anvil()
    require_eth_account()
    receiver, asset = "0x" + "ab" * 20, {"chain": "Ethereum", "asset": "ETH"}
    terms = {"retry_duration": 10, "refund_address": REFUND, "min_price": "0x0"}
    with node_with_broker(tmp_path) as node, evm_chain(10_997, tmp_path / "anvil.log") as evm:
        node.call("dev_abortBroadcast", "Ethereum")
        channel = node.call(
            "broker_request_swap_deposit_address", BTC, asset, receiver, 0, None, None, None, terms
        )
        node.call("dev_deposit", channel["address"], BTC, 10**8)
        name = f"{channel['issued_block']}-Bitcoin-{channel['channel_id']}"
        send = ("--network", "dev", "--node", node.url, "--backend", NO_SERVER, "--json")
        for _ in range(BLOCKS):
            node.call("dev_newBlock")
            printed = CliRunner().invoke(cli, ["recover", "--for", name, *send])
            if printed.exit_code == 0:
                break
        assert printed.exit_code == 0, printed.output
        payload = json.loads(printed.stdout)["payload"]
        assert payload["function"] == "allBatch"
        number = str(payload["broadcastId"])
        by_number = CliRunner().invoke(cli, ["recover", "ethereum", number, *send])
        assert json.loads(by_number.stdout)["payload"]["data"] == payload["data"], by_number.output
        amount = place_contracts(evm, node, payload)
        sent = CliRunner().invoke(
            cli, ["recover", "--for", name, *send, "--eth-rpc", evm.url, "--key", str(key), "--yes"]
        )
        assert sent.exit_code == 0, sent.output
        assert evm.balance(receiver) == amount > 0


def place_contracts(evm: Evm, node: NodeProcess, payload: dict[str, Any]) -> int:
    """Place key manager and vault at the addresses of a payload; return the amount that it pays."""
    manager, vault = payload["keyManager"], payload["vault"]
    signer = raw(node.call("cf_eth_vault")[0])
    words = int.from_bytes(signer[1:], "big"), signer[0] - 2
    for source, place, slots in (
        (evm.deploy("KeyManager", *words), manager, words),
        (evm.deploy("Vault", int(manager, 16)), vault, (int(manager, 16),)),
    ):
        evm.call("anvil_setCode", place, evm.call("eth_getCode", source, "latest"))
        for slot, value in enumerate(slots):
            evm.call("anvil_setStorageAt", place, hex(slot), f"0x{value:064x}")
    evm.call("anvil_setBalance", vault, hex(100 * ETHER))
    return int(payload["amount"])
