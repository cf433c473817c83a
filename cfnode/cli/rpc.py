"""`cfnode rpc`: one JSON-RPC call to a running node, whose result is printed as JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli import client
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.options import DEFAULT_URL, NODE_VARIABLE, json_option, node_option, timeout_option
from cfnode.cli.output import print_json
from cfnode.core.foreign import ANSWER, ForeignError, read_bounded, read_json
from cfnode.core.jsonrpc import RpcError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from cfnode.rpc.table.rows import Row

MAX_METHODS = 10_000
"""Method names of a node that are compared with an unknown one."""
_NAMED = """write parameters by name, as in '{"account_id": "cF…"}'"""
"""The next step for a malformed `--named`."""
METHOD_NAMES_TIMEOUT_S = 1.0
"""Seconds for which a shell waits for the names."""


class MethodName(click.ParamType[str]):
    """A method of JSON-RPC, which a shell completes by the names that the node lists."""

    name = "method"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the node's methods that begin with the incomplete word."""
        from click.shell_completion import CompletionItem

        url = ctx.params.get("url") or os.environ.get(NODE_VARIABLE) or DEFAULT_URL
        names = methods_of(str(url), METHOD_NAMES_TIMEOUT_S)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def parse_parameter(text: str) -> Any:
    """Return the JSON value, or the text if it is not JSON: `Ethereum` needs no quotes, `1` is a number."""
    try:
        return read_json(text)
    except ForeignError:
        return text


def parse_named(text: str) -> dict[str, Any]:
    """Read the object of `--named`. Raise Failure (usage)."""
    try:
        parameters = read_json(read_bounded(sys.stdin.buffer, ANSWER.size) if text == "-" else text)
    except ForeignError as error:
        raise CommandFailure(f"--named: {text[:40]!r} {error}: {_NAMED}", ExitCode.USAGE) from None
    if not isinstance(parameters, dict):
        raise CommandFailure(f"--named: {text[:40]!r} is not an object: {_NAMED}", ExitCode.USAGE)
    return parameters


@click.command(
    epilog="Examples:  cfnode rpc system_health   |   cfnode rpc chain_getBlockHash 0   |   "
    'cfnode rpc cf_account_info --named \'{"account_id": "cF…"}\''
)
@click.argument("method", type=MethodName())
@click.argument("parameters", nargs=-1)
@click.option(
    "--named", metavar="JSON", help="Parameters by name, as a JSON object; `-` reads standard input."
)
@node_option()
@timeout_option()
@json_option
def rpc(
    method: str, parameters: tuple[str, ...], named: str | None, url: str, timeout: float, as_json: bool
) -> None:
    """Call METHOD with PARAMETERS (JSON, or bare text) and print the result, which is always JSON."""
    if named is not None and parameters:
        raise CommandFailure("give parameters by position or by --named, not both", ExitCode.USAGE)
    params = parse_named(named) if named is not None else [parse_parameter(text) for text in parameters]
    try:
        print_json(client.call(url, method, params, timeout=timeout))
    except client.CallRefused as error:
        if error.error.get("code") == client.INVALID_PARAMS:
            hint = _parameters(method, params, str(error.error.get("data", "")))
            raise client.CallRefused(method, error.error, hint) from None
        if error.error.get("code") != client.METHOD_NOT_FOUND or error.error.get("data") is not None:
            raise
        raise client.CallRefused(method, error.error, _suggestion(url, method, timeout)) from None


def methods_of(url: str, timeout: float) -> list[str]:
    """Return the names of a node's methods; none if it does not answer."""
    try:
        answer = client.call(url, "rpc_methods", [], timeout=timeout)
    except CommandFailure:
        return []
    names = answer.get("methods") if isinstance(answer, dict) else None
    return [name for name in names[:MAX_METHODS] if isinstance(name, str)] if isinstance(names, list) else []


def _parameters(method: str, params: list[Any] | dict[str, Any], reason: str) -> str:
    """Name the parameters of a method, the optional ones in brackets, and say what to do with the wrong one.

    The text is empty if cfnode has no such method. The node's `reason` may name the wrong one already; that
    of an official method does not, since clients compare it.
    """
    from cfnode.devchain.methods.rows import SECTION
    from cfnode.rpc.reference import full_table
    from cfnode.rpc.table.rows import Row

    row = full_table(SECTION).by_name.get(method)
    if not isinstance(row, Row):
        return ""
    names = [f"[{param.name}]" if param.optional else param.name for param in row.params]
    fault = _fault(row, params)
    step = "Correct it" if fault is None or fault[1] in reason else f"{fault[0]} {fault[1]}"
    return (
        f". {step}. Its parameters: {', '.join(names)}"
        if names
        else ". It takes no parameters: leave them out"
    )


def _fault(row: Row, params: list[Any] | dict[str, Any]) -> tuple[str, str] | None:
    """Return what to do with a wrong parameter, and its name; None if all are readable."""
    from cfnode.rpc.table.rows import MissingParam
    from cfnode.rpc.table.serde import Misread

    try:
        row.bind(params)
    except MissingParam as error:
        return "Add", error.param.name
    except Misread as error:
        param = row.param_of(error)
        return None if param is None else ("Correct", param.name)
    except RpcError:  # its text begins with the name
        return None
    return None


def _suggestion(url: str, method: str, timeout: float) -> str:
    """Name the node's methods that are spelled like an unknown one; empty if there are none."""
    from cfnode.core.suggestions import did_you_mean

    method_names = methods_of(url, timeout)
    return "" if method in method_names else did_you_mean(method, method_names)
