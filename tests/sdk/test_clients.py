"""Both clients over real sockets: answers, and every way in which a service can be down, slow or strange."""

from __future__ import annotations

import inspect
import json
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from cfnode.sdk import (
    AsyncSwapSDK,
    BackendError,
    BadAnswer,
    BadStatus,
    BrokerOptions,
    ChainError,
    Options,
    RpcCallError,
    SdkError,
    SwapSDK,
    TimedOut,
    TransportError,
    Unreachable,
    ValidationError,
)
from cfnode.sdk.calls.deposits import RequestDepositAddress
from cfnode.sdk.calls.infos import GetChannelOpeningFees
from cfnode.sdk.calls.quotes import GetQuoteV2
from cfnode.sdk.calls.statuses import GetStatusV2
from cfnode.sdk.transport import MAX_ANSWER_BYTES
from tests.conftest import ROOT
from tests.sdk.forms import FORMS, Form, all_forms, under_asyncio, under_trio
from tests.sdk.loopback import Handler, Loopback, Request, page, serving, unused_url
from tests.sdk.scripted import environment_answer
from tests.support.sdk.deposits import OPENED, request_v1

METHOD = "broker_request_swap_deposit_address"


Client = Callable[[Any, dict[str, Any]], Any]


def _asking(form: Form) -> Client:
    def client(call: Any, options: dict[str, Any]) -> Any:
        return form(lambda sdk: sdk.call(call), options)

    return client


def blocking(call: Any, options: dict[str, Any]) -> Any:
    """Run a call by the blocking client."""
    with SwapSDK(options) as sdk:
        return sdk.call(call)


all_clients = pytest.mark.parametrize(
    "client", [_asking(form) for form in FORMS], ids=[form.__name__ for form in FORMS]
)


def options(server: Loopback | str, **more: Any) -> dict[str, Any]:
    """Return options with one server as node, swap service and broker, and limits of five seconds."""
    url = server if isinstance(server, str) else server.url
    base = {"network": "perseverance", "rpcUrl": url, "backendUrl": url, "broker": {"url": url}}
    return base | {"timeout": 5.0, "channelTimeout": 5.0} | more


def node(request: Request) -> bytes:
    """Answer as a node with a broker, whose stored heights are unknown."""
    return request.results({"cf_environment": environment_answer(), METHOD: OPENED, "state_getStorage": None})


def opening(then: Handler) -> Handler:
    """Return a node that answers everything but the request for a channel, which `then` treats."""

    def handle(request: Request) -> bytes | None:
        return then(request) if METHOD.encode() in request.body else node(request)

    return handle


def channels_asked(server: Loopback) -> int:
    """Return how many requests for a channel a server received."""
    return sum(METHOD.encode() in request.body for request in server.requests)


@all_clients
def test_a_deposit_address_over_http(client: Client) -> None:
    """Open a channel by the environment, one request and the height of the source chain."""
    with serving(node) as server:
        result = client(request_v1(), options(server))
    assert (result.deposit_channel_id, result.channel_opening_fee) == ("5-Ethereum-6", 8)
    assert [call["method"] for request in server.requests for call in request.calls] == [
        "cf_environment",
        METHOD,
        "state_getStorage",
    ]


@all_clients
def test_a_node_that_is_down(client: Client) -> None:
    """Raise Unreachable, safe to repeat, where nothing listens."""
    with pytest.raises(Unreachable) as caught:
        client(request_v1(), options(unused_url()))
    assert (caught.value.sent, caught.value.retryable, caught.value.code) == (False, True, "UNREACHABLE")


@all_clients
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, Unreachable),
        (page(200, b"<html>down for maintenance</html>", "text/html"), BadAnswer),
        (page(502, b"<html>bad gateway</html>", "text/html"), BadStatus),
        (page(307, b""), BadStatus),
        (page(200, b"{}"), BadAnswer),
        (page(200, b"[]"), BadAnswer),
        (page(200, b"[" * 200_000), BadAnswer),
        (page(200, b'[{"id":"x","result":1}]'), BadAnswer),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n[", Unreachable),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Unreachable),
    ],
)
def test_a_channel_is_asked_for_once_whatever_comes_back(
    client: Client, answer: bytes | None, kind: type[TransportError]
) -> None:
    """Ask for a channel once whatever comes back, and say that it may have been opened."""

    def then(request: Request) -> bytes | None:
        if answer is not None:
            request.connection.sendall(answer)
        return None

    with serving(opening(then)) as server, pytest.raises(TransportError) as caught:
        client(request_v1(), options(server))
    assert type(caught.value) is kind
    assert (caught.value.sent, caught.value.retryable) == (True, False)
    assert "may have been opened" in str(caught.value)
    assert channels_asked(server) == 1


@all_clients
def test_a_broker_that_never_answers(client: Client) -> None:
    """Give up on a silent broker, with an error that forbids a repetition."""

    def then(request: Request) -> None:
        request.release.wait(30)

    with serving(opening(then)) as server, pytest.raises(TimedOut) as caught:
        client(request_v1(), options(server, channelTimeout=0.3))
    assert (caught.value.sent, caught.value.retryable, caught.value.code) == (True, False, "TIMEOUT")
    assert channels_asked(server) == 1


HEAD = b"HTTP/1.1 200 OK\r\n"
DRIPPED = {
    "status line": b"HTTP",
    "header": HEAD + b"x-filler: ",
    "body": HEAD + b"content-length: 100000\r\n\r\n",
    "chunk size": HEAD + b"transfer-encoding: chunked\r\n\r\n",
}


def dripping(start: bytes) -> Handler:
    """Return an answer that goes on byte by byte, and never ends."""

    def drip(request: Request) -> None:
        piece = b"1 " if start == DRIPPED["status line"] else b"0"
        try:
            request.connection.sendall(start)
            while not request.release.wait(0.05):
                request.connection.sendall(piece)
        except OSError:
            return

    return drip


@all_clients
@pytest.mark.parametrize("part", list(DRIPPED))
def test_an_answer_that_never_ends(client: Client, part: str) -> None:
    """Give up on an answer that goes on byte by byte in any of its parts."""
    with serving(dripping(DRIPPED[part])) as server, pytest.raises(TransportError) as caught:
        client(GetStatusV2("1"), options(server, timeout=0.4))
    assert caught.value.retryable
    assert isinstance(caught.value, TimedOut) or part in ("status line", "chunk size")


@all_clients
@pytest.mark.parametrize("part", ["header", "body"])
def test_a_slow_channel_request_is_sent_once(client: Client, part: str) -> None:
    """Ask for a channel once although its answer never ends."""
    with serving(opening(dripping(DRIPPED[part]))) as server, pytest.raises(TimedOut) as caught:
        client(request_v1(), options(server, channelTimeout=0.4))
    assert (caught.value.sent, caught.value.retryable) == (True, False)
    assert channels_asked(server) == 1


@all_clients
def test_a_handshake_that_never_ends_has_sent_nothing(client: Client) -> None:
    """Say that nothing was sent, and a repetition is safe, where TLS never begins."""
    with serving(node) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        there = options(server, channelTimeout=0.3)
        there["broker"] = {"url": f"https://127.0.0.1:{silent.getsockname()[1]}"}
        with pytest.raises(TimedOut) as caught:
            client(request_v1(), there)
    assert (caught.value.sent, caught.value.retryable) == (False, True)
    assert "may have been opened" not in str(caught.value)


def compressed(request: Request) -> bytes:
    """Answer with 10 MB of blanks that are compressed to some kilobytes."""
    body = zlib.compress(b" " * 10_000_000)
    return HEAD + f"content-encoding: deflate\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def huge(request: Request) -> bytes:
    """Answer with more bytes than are accepted."""
    return page(200, b" " * (MAX_ANSWER_BYTES + 1))


@all_clients
@pytest.mark.parametrize(("handler", "words"), [(compressed, "compressed"), (huge, "larger than")])
def test_an_answer_that_would_fill_the_memory(client: Client, handler: Handler, words: str) -> None:
    """Refuse an answer that is compressed or too large before it fills the memory."""
    with serving(opening(handler)) as server, pytest.raises(BadAnswer, match=words) as caught:
        client(request_v1(), options(server))
    assert (caught.value.sent, caught.value.retryable) == (True, False)
    assert channels_asked(server) == 1


def awaited_no_longer(then: Any) -> Handler:
    """Return a service that lets the first question wait until it is closed, and answers the others."""
    asked = iter([None])

    def handle(request: Request) -> bytes | None:
        return page(200, json.dumps(then).encode()) if next(asked, 0) == 0 else _held(request)

    return handle


def _held(request: Request) -> None:
    request.release.wait(30)


@pytest.mark.parametrize("form", [under_trio, under_asyncio])
def test_a_call_that_is_given_up_ends_at_once_and_the_client_goes_on(form: Form) -> None:
    """End a cancelled call at once, and use the client for the next one."""

    async def impatient(sdk: Any) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(sdk.get_status_v2, "7")
            while not server.requests:  # noqa: ASYNC110  # a thread serves
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        return str((await sdk.get_status_v2("7")).state)

    with serving(awaited_no_longer({"state": "WAITING"})) as server:
        assert form(impatient, options(server)) == "WAITING"


@all_clients
def test_an_answer_that_lacks_the_address(client: Client) -> None:
    """Refuse an opened channel without its address, and say that it was probably opened."""

    def then(request: Request) -> bytes:
        return request.results({METHOD: {key: value for key, value in OPENED.items() if key != "address"}})

    with serving(opening(then)) as server, pytest.raises(BadAnswer, match="probably opened") as caught:
        client(request_v1(), options(server))
    assert not caught.value.retryable
    assert channels_asked(server) == 1


def failing(code: int, message: str) -> Handler:
    """Answer each call with an error."""

    def handle(request: Request) -> bytes:
        replies = [
            {"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message, "data": "why"}}
            for call in request.calls
        ]
        return page(200, json.dumps(replies).encode())

    return handle


@all_clients
def test_an_rpc_error_keeps_code_message_and_data(client: Client) -> None:
    """Keep code, message and data of a JSON-RPC error."""
    with serving(opening(failing(-32602, "Invalid params"))) as server, pytest.raises(RpcCallError) as caught:
        client(request_v1(), options(server))
    error = caught.value
    assert (error.rpc_code, error.rpc_message, error.data) == (-32602, "Invalid params", "why")
    assert (str(error), error.code) == ("RPC error [-32602]: Invalid params", "RPC")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            'KnownModuleError { pallet: "Swapping", name: "BrokerFeeTooHigh", error: "Too \\"high\\"." }',
            ("Swapping", "BrokerFeeTooHigh", 'Too "high".'),
        ),
        (
            "Module error ‘InvalidEgressAddress‘ from pallet ‘Swapping‘: ‘The address is wrong.‘",
            ("Swapping", "InvalidEgressAddress", "The address is wrong."),
        ),
        ("DispatchError(BadOrigin)", ("", "BadOrigin", "this account may not make this call")),
        ("DispatchError: PoolDoesNotExist", ("", "PoolDoesNotExist", "DispatchError: PoolDoesNotExist")),
        ("Invalid(Payment)", ("", "Payment", "the account cannot pay the transaction's fee")),
    ],
)
def test_a_refusal_of_the_chain_names_pallet_and_error(message: str, expected: tuple[str, str, str]) -> None:
    """Read pallet, name and text from each form in which a node writes the chain's refusal."""
    with serving(opening(failing(-32024, message))) as server, pytest.raises(ChainError) as caught:
        blocking(request_v1(), options(server))
    assert (caught.value.pallet, caught.value.error, caught.value.text) == expected
    assert caught.value.code == "CHAIN"
    assert caught.value.rpc_message == message
    assert "KnownModuleError" not in str(caught.value)


@all_clients
def test_an_expiry_time_that_cannot_be_looked_up_is_estimated(client: Client) -> None:
    """Estimate the channel's expiry where the source chain's height cannot be read."""

    def handle(request: Request) -> bytes | None:
        return None if b"state_getStorage" in request.body else node(request)

    with serving(handle) as server:
        result = client(request_v1(), options(server))
    assert result.estimated_deposit_channel_expiry_time > 1_700_000_000_000


@pytest.mark.parametrize("url", ["ftp://x", "no url", "http://[", "http://\x00"])
def test_an_address_that_is_no_url(url: str) -> None:
    """Raise an error of the SDK for a URL of another scheme or without a host."""
    with pytest.raises((ValidationError, TransportError)):
        blocking(GetChannelOpeningFees(), options(url))


def test_a_password_in_an_address_is_not_repeated() -> None:
    """Leave user, path and query of a URL with secrets out of errors and of repr."""
    url = unused_url().replace("http://", "http://user:geheim@") + "/key-geheim?token=geheim"
    with pytest.raises(SdkError) as caught:
        blocking(GetChannelOpeningFees(), options(url))
    assert "geheim" not in str(caught.value)
    with SwapSDK(options(url)) as sdk:
        assert "geheim" not in repr(sdk.session.options)


def service(*answers: tuple[int, dict[str, Any]]) -> Handler:
    """Return a swap service that gives these answers, one after the other."""
    waiting = iter(answers)

    def handle(request: Request) -> bytes:
        status, document = next(waiting)
        return page(status, json.dumps(document).encode())

    return handle


UNHEARD_OF = (404, {"message": "resource not found"})
RESTARTED = (502, {"message": "bad gateway"})


def state(name: str, updated: int = 0) -> tuple[int, dict[str, Any]]:
    """Return a status in a state."""
    return 200, {"state": name, "lastStatechainUpdateAt": updated}


async def watched(sdk: Any, reference: str) -> list[str]:
    """Return the states that a watch yields, by either client."""
    statuses = sdk.watch_status(reference, seconds=0, failures=2)
    if hasattr(statuses, "__aiter__"):
        return [status.state async for status in statuses]
    return [status.state for status in await statuses]


@all_forms
@pytest.mark.parametrize(
    ("answers", "changes"),
    [
        ([state("WAITING", 1), state("WAITING", 2), state("FAILED")], ["WAITING", "FAILED"]),
        ([UNHEARD_OF, UNHEARD_OF, state("WAITING"), state("COMPLETED")], ["WAITING", "COMPLETED"]),
        (
            [state("SENT"), RESTARTED, RESTARTED, state("SENT"), RESTARTED, state("FAILED")],
            ["SENT", "FAILED"],
        ),
    ],
)
def test_a_swap_is_watched_until_it_is_final(
    form: Form, answers: list[tuple[int, dict[str, Any]]], changes: list[str]
) -> None:
    """Yield each change of the state once, through outages and a swap that is not known yet."""
    with serving(service(*answers)) as server:
        assert form(lambda sdk: watched(sdk, "1-Bitcoin-2"), options(server)) == changes


@all_forms
@pytest.mark.parametrize(
    ("reference", "answers", "kind"),
    [
        ("1-Bitcoin-2", [UNHEARD_OF] * 3, BackendError),
        ("1-Bitcoin-2", [state("WAITING"), UNHEARD_OF], BackendError),
        ("7", [UNHEARD_OF], BackendError),
        ("7", [RESTARTED] * 3, BadStatus),
        ("7", [(200, {})], BadAnswer),
    ],
)
def test_what_will_not_pass_ends_the_watching(
    form: Form, reference: str, answers: list[tuple[int, dict[str, Any]]], kind: type[SdkError]
) -> None:
    """Raise after too many failures, for an unknown swap, and for a swap that vanishes."""
    with serving(service(*answers)) as server:
        with pytest.raises(kind):
            form(lambda sdk: watched(sdk, reference), options(server))
        assert len(server.requests) == len(answers)


@pytest.mark.parametrize("client", [SwapSDK, AsyncSwapSDK])
def test_a_method_has_the_arguments_and_the_description_of_its_call(client: type[SwapSDK]) -> None:
    """Give each method the parameters, defaults and description of its call."""
    method = client(network="dev").get_quote_v2
    expected = inspect.signature(GetQuoteV2).parameters.values()
    parameters = inspect.signature(method).parameters.values()
    assert [(parameter.name, parameter.default) for parameter in parameters] == [
        (parameter.name, parameter.default) for parameter in expected
    ]
    assert inspect.getdoc(SwapSDK.get_quote_v2) == inspect.getdoc(GetQuoteV2)
    assert "SwapSDK.get_quote_v2" in str(AsyncSwapSDK.get_quote_v2.__doc__)


def test_a_client_without_a_network_uses_the_main_net_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Warn that no network was named, since the main net moves real money."""
    with caplog.at_level("WARNING"):
        assert SwapSDK().session.network.name == "mainnet"
        AsyncSwapSDK({"timeout": 5})
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == 2 * [
        "no network is given: this client uses the main net, where swaps move real money"
    ]
    caplog.clear()
    for options in ({"network": "mainnet"}, Options(), {"network": "dev", "timeout": 5}):
        SwapSDK(options)
    SwapSDK(network="mainnet")
    assert caplog.records == []


def test_options_by_name_and_as_json_are_the_same() -> None:
    """Make equal sessions by keywords, JSON names, Python names and options."""
    named = SwapSDK(network="mainnet", broker={"url": "http://b", "commissionBps": 3}, timeout=1)
    read = SwapSDK({"network": "mainnet", "broker": {"url": "http://b", "commissionBps": 3}, "timeout": 1})
    assert named.session.options == read.session.options
    assert named.session.rpc_url == "https://rpc.mainnet.chainflip.io"
    names = {"url": "http://b", "commission_bps": 3}
    assert SwapSDK({"network": "mainnet", "broker": names, "timeout": 1}).session.options == (
        SwapSDK(named.session.options).session.options
    )


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"brokr": {}}, "brokr", "unknown option 'brokr'; did you mean broker? Choose from network, broker"),
        ({"network": "mainet"}, "network", "did you mean mainnet? Choose from mainnet, perseverance"),
        ({"network": 5}, "network", "expected a text"),
        ({"broker": {"url": "http://b", "comissionBps": 3}}, "broker.comissionBps", "mean commission_bps?"),
        ({"broker": BrokerOptions("http://b", 1001)}, "broker.commission_bps", "0 to 1000 basis points"),
        ({"broker": {"commission_bps": 3}}, "broker.url", "Required"),
        ({"enabled_features": {"dcaV2": True}}, "enabled_features.dcaV2", "did you mean dca?"),
        ({"default_refund_addresses": {"Bitcon": "x"}}, "default_refund_addresses.Bitcon", "mean Bitcoin?"),
        ({"rpc_url": "ws://node"}, "rpc_url", "http:// or https://"),
        ({"broker": {"url": "localhost:9944"}}, "broker.url", "http:// or https://"),
        ({"timeout": 0}, "timeout", "seconds above 0"),
        ({"channel_timeout": "long"}, "channel_timeout", "expected a number"),
    ],
)
def test_an_option_that_is_unknown_or_wrong_is_an_error_of_the_sdk(
    options: dict[str, Any], field: str, words: str
) -> None:
    """Name the unknown or wrong option, with one that is spelled alike."""
    for create in (lambda: SwapSDK(**options), lambda: AsyncSwapSDK(options)):
        with pytest.raises(ValidationError) as caught:
            create()
        assert (caught.value.field, words in str(caught.value)) == (field, True), caught.value


def test_a_request_made_by_name_is_the_one_made_from_json() -> None:
    """Build by keywords the request that JSON gives."""
    request = request_v1()
    again = RequestDepositAddress(
        src_chain="Ethereum",
        src_asset="ETH",
        dest_chain="Bitcoin",
        dest_asset="BTC",
        dest_address=request.dest_address,
        amount=1000,
        fill_or_kill_params=request.fill_or_kill_params,
    )
    assert again == request


def test_the_package_loads_no_library_that_it_does_not_need_yet() -> None:
    """Import the package without httpx, trio, eth_account or rich, which cost time at each start."""
    program = (
        "import sys, cfnode.sdk, cfnode.sdk.recovery\n"
        "print(sorted({'httpx', 'trio', 'anyio', 'eth_account', 'eth_abi', 'rich'} & set(sys.modules)))\n"
        "print(sys.getrecursionlimit())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split("\n")[:2] == ["[]", "1000"]
