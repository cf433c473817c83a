"""Bearer tokens of the SDK's clients: which server gets one, and where none may appear."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from cfnode.sdk import BadStatus, BrokerOptions, Options, SwapSDK, TransportError, ValidationError
from cfnode.sdk.credentials import Credentials
from cfnode.sdk.exchange import SdkHttpCall
from cfnode.sdk.subscriptions import subscription
from cfnode.sdk.transport import Transport
from tests.sdk.loopback import Request, page, serving
from tests.support.loops import LOOPS, Run

TOKEN = "node-token-0123456789abcdef"


def file_with(folder: Path, text: str, mode: int = 0o600) -> Path:
    """Write a file with a token and the given mode."""
    path = folder / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


def empty(request: Request) -> bytes:
    """Answer with an empty object."""
    return page(200, b"{}")


def is_sent(request: Request) -> bool:
    """Return whether a request bears the token."""
    return f"authorization: bearer {TOKEN}\r\n" in request.head.decode().lower()


def test_a_token_goes_to_its_own_server_alone() -> None:
    """Send the token to its own host alone: "localhost" is another one."""
    with serving(empty) as node, serving(empty) as other:
        transport = Transport(Credentials({node.url: TOKEN}))
        for url in (node.url, f"{node.url}/v2/quote", other.url, node.url.replace("127.0.0.1", "localhost")):
            transport.exchange(SdkHttpCall("GET", url, 10))
        transport.close()
        assert [is_sent(request) for request in node.requests] == [True, True, False]
        assert [is_sent(request) for request in other.requests] == [False]


def test_a_redirect_takes_no_token_elsewhere() -> None:
    """Return a redirect as it is instead of carrying the token elsewhere."""

    def elsewhere(request: Request) -> bytes:
        return f"HTTP/1.1 307 X\r\nlocation: {other.url}\r\ncontent-length: 0\r\n\r\n".encode()

    with serving(empty) as other, serving(elsewhere) as node:
        transport = Transport(Credentials({node.url: TOKEN}))
        assert transport.exchange(SdkHttpCall("POST", node.url, 10)).status == 307
        transport.close()
        assert other.requests == []


@pytest.mark.parametrize(
    ("url", "asked", "has_token"),
    [
        ("https://node.example", "https://node.example:443/path", True),
        ("https://Node.Example/rpc", "wss://node.example", True),
        ("http://user:password@node.example", "http://node.example:80", True),
        ("https://node.example", "http://node.example:443", False),
        ("https://node.example", "https://node.example:8443", False),
        ("https://node.example", "https://node.example.evil", False),
        ("https://node.example", "https://evil.example/https://node.example", False),
        ("https://node.example", "https://node.example@evil.example", False),
        ("https://node.example", "nonsense", False),
    ],
)
def test_a_server_is_scheme_host_and_port(url: str, asked: str, has_token: bool) -> None:
    """Compare scheme, host and port, in any case, with a default port named or not."""
    headers = Credentials({url: TOKEN}).headers(asked)
    assert headers == ((("authorization", f"Bearer {TOKEN}"),) if has_token else ())


def test_a_public_node_gets_no_token() -> None:
    """Refuse a token for a network's public node, and accept it for a development chain."""
    for options in ({}, {"rpc_url": "https://rpc.mainnet.chainflip.io:443/"}):
        with pytest.raises(
            ValidationError, match="no token is sent to a network's public node: give rpc_url"
        ):
            SwapSDK(network="mainnet", rpc_token=TOKEN, **options)
    with SwapSDK(network="dev", rpc_token=TOKEN):
        pass


def test_a_token_is_in_no_repr_and_no_json() -> None:
    """Leave tokens out of the repr of options, sessions and credentials."""
    options = Options(network="dev", rpc_token=TOKEN, broker=BrokerOptions("http://127.0.0.1:1", token=TOKEN))
    with SwapSDK(options) as sdk:
        for text in (
            options,
            options.to_json(),
            sdk,
            sdk.session.options,
            vars(sdk),
            Credentials({"x": TOKEN}),
        ):
            assert TOKEN not in repr(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rpc_token": f"{TOKEN}\n"}, "rpc_token: malformed bearer token"),
        ({"rpc_token": TOKEN.encode()}, "rpc_token: expected a text"),
        ({"rpc_token": f"two {TOKEN}"}, "rpc_token: malformed bearer token"),
        ({"rpc_token": "x" * 513}, "rpc_token: malformed bearer token"),
        ({"rpc_token": TOKEN, "rpc_token_file": "file"}, "rpc_token and rpc_token_file exclude each other"),
        ({"rpc_token_file": "/nowhere/token"}, "rpc_token_file: /nowhere/token cannot be read: No such file"),
        ({"rpc_token_file": 7}, "rpc_token_file: expected the path of a file"),
        (
            {"broker": {"url": "http://127.0.0.1:1", "token": f"two {TOKEN}"}},
            "broker.token: malformed bearer",
        ),
        (
            {"broker": {"url": "http://127.0.0.1:1", "tokenFile": "/nowhere"}},
            "broker.token_file: /nowhere cannot",
        ),
        ({"token": TOKEN}, "unknown option 'token'; did you mean rpc_token?"),
    ],
)
def test_a_malformed_token_is_refused_and_not_repeated(options: dict[str, Any], words: str) -> None:
    """Name the option with a malformed token or an unreadable file, and do not print the token."""
    with pytest.raises(ValidationError) as refused:
        SwapSDK(network="dev", **options)
    assert words in str(refused.value)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        (f"shop broker {TOKEN}", 0o600, "contains no bearer token; write the token alone"),
        ("", 0o600, "contains no bearer token"),
        (f"{TOKEN}\n{TOKEN}", 0o600, "contains no bearer token"),
        (TOKEN, 0o644, "is open to other users of this machine: chmod 600"),
        (TOKEN, 0o640, "is open to other users of this machine: chmod 600"),
    ],
)
def test_a_malformed_file_is_refused_and_not_repeated(
    tmp_path: Path, text: str, mode: int, words: str
) -> None:
    """Refuse a file with more or less than one token, or open to others, and do not print it."""
    path = file_with(tmp_path, text, mode)
    with pytest.raises(ValidationError) as refused:
        SwapSDK(network="dev", rpc_token_file=path)
    assert f"rpc_token_file: {path}" in str(refused.value)
    assert words in str(refused.value)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize(("status", "advice"), [(401, "rpc_token_file"), (403, "--rpc-allowed-hosts")])
@LOOPS
def test_a_refusal_says_what_to_do_and_no_log_has_the_token(
    loop: Run, status: int, advice: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Name the option to set after 401 and the flag after 403; write the token into no log."""
    caplog.set_level(logging.DEBUG)
    file = file_with(tmp_path, f"{TOKEN}\n")
    errors: list[TransportError] = []

    async def subscribe() -> None:
        with pytest.raises(BadStatus) as refused:
            async with subscription(server.url, "chain_subscribeNewHeads", token_file=file):
                raise AssertionError("refused above")
        errors.append(refused.value)

    with serving(lambda request: page(status, b"no")) as server:
        with SwapSDK(network="dev", rpc_url=server.url, backend_url=server.url, rpc_token_file=file) as sdk:
            for ask in (sdk.get_swap_limits, lambda: sdk.get_status_v2("1-Bitcoin-1")):
                with pytest.raises(BadStatus) as refused:
                    ask()
                errors.append(refused.value)
        loop(subscribe)
        assert [is_sent(request) for request in server.requests] == [True, True, True]
    for error in errors:
        assert (error.status, error.retryable, advice in error.message) == (status, False, True)  # type: ignore[attr-defined]
        assert TOKEN not in error.message
    assert TOKEN not in caplog.text
