"""`cfnode key inspect`: keys and addresses of a secret, in the format of Substrate's command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cfnode.cli.accepted import also_accepted
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.exits import CommandFailure
from cfnode.cli.failures import explained
from cfnode.cli.key.secret_input import (
    NO_FILE,
    SCHEMES,
    choose_password,
    looks_like_a_file,
    password_options,
    read_secret,
)
from cfnode.cli.key.secret_output import print_secret
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.options import json_option
from cfnode.cli.values import OneOf

if TYPE_CHECKING:
    from cfnode.core.keys import Scheme

__all__ = ["inspect", "network_option", "secret_text"]

Command = TypeVar("Command", bound=Callable[..., Any])
NETWORKS = {"chainflip": 2112, "substrate": 42, "polkadot": 0, "kusama": 2}
MAX_SS58_PREFIX = 16383
PUBLIC_LENGTHS = {"sr25519": 32, "ed25519": 32, "ecdsa": 33}


def _network(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Return the SS58 prefix of a network, by name or by number."""
    if text is None or text.lower() in NETWORKS:
        return None if text is None else NETWORKS[text.lower()]
    if not text.isdecimal() or int(text) > MAX_SS58_PREFIX:
        raise click.BadParameter(
            f"{text!r:.40} is not a network: choose from {', '.join(NETWORKS)}, or a number up to "
            f"{MAX_SS58_PREFIX}"
        )
    return int(text)


def network_option(text: str) -> Callable[[Command], Command]:
    """Return the option `--network NAME|NUMBER`."""
    return click.option("--network", "-n", callback=_network, metavar="NAME|NUMBER", help=text)


@dataclass(frozen=True, slots=True)
class _Inspected:
    """Inspected key: the rows in the order of the lines."""

    heading: tuple[str, str] | None  # (name in JSON, text)
    seed: str | None
    public: bytes
    prefix: int

    @property
    def is_secret(self) -> bool:
        """Whether the rows contain the secret itself."""
        return self.heading is not None and self.heading[0] != "publicKeyUri"

    def fields(self) -> dict[str, str]:
        """Return the values by the label of their line."""
        from cfnode.core import ss58
        from cfnode.core.keys import account_id

        account = account_id(self.public)
        seed = {} if self.seed is None else {"Secret seed": self.seed}
        return {
            "Network ID": next(
                (name for name, prefix in NETWORKS.items() if prefix == self.prefix), str(self.prefix)
            ),
            **seed,
            "Public key (hex)": f"0x{self.public.hex()}",
            "Account ID": f"0x{account.hex()}",
            "Public key (SS58)": ss58.encode(self.public, self.prefix),
            "SS58 Address": ss58.encode(account, self.prefix),
        }


JSON_NAMES = {
    "Network ID": "networkId",
    "Secret seed": "secretSeed",
    "Public key (hex)": "publicKey",
    "Account ID": "accountId",
    "Public key (SS58)": "ss58PublicKey",
    "SS58 Address": "ss58Address",
}


@click.command(
    cls=ClapCommand,
    short_help="Print the keys and addresses of a secret or an address.",
    excluding=(("--public", "--expect-public"),),
)
@click.argument("uri", required=False, metavar="[SECRET|FILE|ADDRESS[/PATH]|-]")
@click.option("--public", is_flag=True, help="The argument is a public key in hexadecimal.")
@network_option("Network of the printed addresses.  [default: chainflip, or that of the address]")
@click.option("--scheme", type=OneOf(SCHEMES), default="sr25519", show_default=True, help="Signature scheme.")
@click.option(
    "--output-type",
    type=OneOf(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format: lines of text, or a JSON document.",
)
@click.option(
    "--expect-public",
    metavar="KEY",
    help="Fail unless the secret, before any //path, has this public key or account.",
)
@password_options  # fmt: skip
@also_accepted("--keystore-path")
@json_option
@verbatim_examples
def inspect(
    uri: str | None,
    public: bool,
    network: int | None,
    scheme: Scheme,
    output_type: str,
    expect_public: str | None,
    password: str | None,
    password_interactive: bool,
    password_filename: Path | None,
    as_json: bool,
) -> None:
    r"""Print the keys and addresses of a seed phrase, a secret URI, an address or a public key.

    The secret itself is printed, too. Without an argument the command prompts for it without echo.

    \b
      cfnode key inspect keys/signing_key_file
      cfnode key inspect //Alice --output-type json
      cfnode key inspect cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9
      cfnode key inspect cFNfitvPd2acNNFgijVN3Ls4gG112PZPq7sY2FGtPgEk25wV9/soft
      cfnode key inspect --public 0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d
    """
    with explained():
        text = read_secret(uri, None, prompt="Secret phrase, URI or address", or_address=True)
        if public:
            inspected = _Inspected(None, None, _hex_key(text, scheme), _or_chainflip(network))
        else:
            chosen_password = choose_password(password, password_interactive, password_filename)
            _check_expected(text, scheme, chosen_password, expect_public)
            inspected = _inspect(text, scheme, chosen_password, network)
    text = _json(inspected) if as_json or output_type == "json" else _text(inspected)
    if inspected.is_secret:
        print_secret(text)
    else:
        click.echo(text)


def secret_text(
    secret: str, scheme: Scheme, password: str | None, network: int | None, *, as_json: bool
) -> str:
    """Return what `key inspect` prints about a secret."""
    inspected = _inspect(secret, scheme, password, network)
    return _json(inspected) if as_json else _text(inspected)


def _inspect(text: str, scheme: Scheme, password: str | None, network: int | None) -> _Inspected:
    from cfnode.core import ss58
    from cfnode.core.keys import Keypair, derived_public
    from cfnode.core.suri import SuriError, parse

    try:
        pair = Keypair.from_suri(text, scheme, password=password)
    except SuriError as error:
        address, slash, path = text.partition("/")
        try:
            prefix, key = ss58.decode(address, PUBLIC_LENGTHS[scheme])
            key = derived_public(key, slash + path, scheme)
        except ss58.Ss58Error:
            hint = f". {NO_FILE.capitalize()}" if looks_like_a_file(text) else ""
            raise CommandFailure(f"Invalid phrase/URI given: {error}{hint}") from None
        return _Inspected(("publicKeyUri", text), None, key, prefix if network is None else network)
    name = "secretPhrase" if parse(text).is_bare_phrase else "secretKeyUri"
    seed = "n/a" if pair.seed is None else f"0x{pair.seed.hex()}"
    return _Inspected((name, text), seed, pair.public, _or_chainflip(network))


def _or_chainflip(network: int | None) -> int:
    return NETWORKS["chainflip"] if network is None else network


def _check_expected(text: str, scheme: Scheme, password: str | None, expected: str | None) -> None:
    """Check --expect-public against the secret without its junctions. Raise Failure if it differs."""
    from cfnode.core import ss58
    from cfnode.core.keys import Keypair
    from cfnode.core.suri import parse

    if expected is None:
        return
    pair = Keypair.from_seed(parse(text).seed(password), scheme)
    expected_key = _hex_key(expected, scheme) if expected.startswith("0x") else ss58.decode(expected)[1]
    if expected_key not in (pair.public, pair.account):
        raise CommandFailure(
            f"the secret's public key is 0x{pair.public.hex()}, not the expected one: check the secret, or "
            "--expect-public"
        )


def _hex_key(text: str, scheme: Scheme) -> bytes:
    try:
        key = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        key = b""
    if len(key) != PUBLIC_LENGTHS[scheme]:
        raise CommandFailure(
            f"give a public key of {scheme} as {PUBLIC_LENGTHS[scheme]} bytes in hexadecimal"
        )
    return key


def _json(inspected: _Inspected) -> str:
    document = {JSON_NAMES[label]: value for label, value in inspected.fields().items()}
    if inspected.heading is not None:
        document[inspected.heading[0]] = inspected.heading[1]
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False)


def _text(inspected: _Inspected) -> str:
    fields = inspected.fields()
    name, text = inspected.heading or ("publicKeyUri", None)
    if name == "publicKeyUri":
        uri_lines = [] if text is None else [f"Public Key URI `{text}` is account:"]
        network = f"   {'Network ID/Version:':<19} {fields.pop('Network ID')}"
        return "\n".join([*uri_lines, network, *(f"  {label + ':':<19} {fields[label]}" for label in fields)])
    heading = (
        f"Secret phrase:       {text}" if name == "secretPhrase" else f"Secret Key URI `{text}` is account:"
    )
    return "\n".join([heading, *(f"  {label + ':':<18} {value}" for label, value in fields.items())])
