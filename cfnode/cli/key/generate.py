"""`cfnode key generate`: a seed phrase and the keys of a Chainflip operator.

The JSON document and the three files are those of `chainflip-cli generate-keys`: the signing key (sr25519)
and the Ethereum key come from the phrase, the node key (ed25519) is random.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfnode.cli.accepted import also_accepted
from cfnode.cli.examples import verbatim_examples
from cfnode.cli.failures import explained
from cfnode.cli.key.inspect import network_option, secret_text
from cfnode.cli.key.secret_input import SCHEMES, choose_password, password_options, read_secret
from cfnode.cli.key.secret_output import Destination, print_secret, protect_output
from cfnode.cli.official.grammar import ClapCommand
from cfnode.cli.values import OneOf

if TYPE_CHECKING:
    from cfnode.core.ethereum_key import EthereumKey
    from cfnode.core.keys import Keypair, Scheme

__all__ = ["generate"]

OFFICIAL_NAME = "chainflip-node"
BACKUP = (
    "Keep the seed phrase in a safe place, offline. It gives full control of the account and its funds; "
    "without it, a lost key cannot be restored."
)


@dataclass(frozen=True, slots=True)
class _Keys:
    phrase: str
    signing: Keypair
    node: Keypair
    ethereum: EthereumKey


@click.command(cls=ClapCommand, short_help="Generate a seed phrase and the keys of a node.")
@click.option(
    "--path",
    "-p",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also save node_key_file, signing_key_file and ethereum_key_file in DIR; never overwrite files.",
)
@click.option(
    "--seed-phrase",
    "-s",
    metavar="TEXT|FILE|-",
    help="Use this phrase instead of a new one; `-` reads standard input.",
)
@click.option(
    "--words",
    "-w",
    type=click.Choice(["12", "15", "18", "21", "24"]),
    default=None,
    help="Number of words of the new phrase.  [default: 12]",
)
@click.option(
    "--output-type",
    type=OneOf(["json", "text"]),
    default=None,
    help="Output format: a JSON document, or lines of text.  [default: json; text with --network, --scheme "
    "or a password]",
)
@network_option("Print one key as the official node does, with addresses of this network.")
@click.option(
    "--scheme",
    type=OneOf(SCHEMES),
    default=None,
    help="Print one key of this signature scheme as the official node does.",
)
@password_options  # fmt: skip
@also_accepted("--keystore-path")
@click.option("--json", "-j", "as_json", is_flag=True, hidden=True, help="The default.")
@click.pass_context
@verbatim_examples
def generate(
    ctx: click.Context,
    path: Path | None,
    seed_phrase: str | None,
    words: str | None,
    output_type: str | None,
    network: int | None,
    scheme: Scheme | None,
    password: str | None,
    password_interactive: bool,
    password_filename: Path | None,
    as_json: bool,
) -> None:
    r"""Generate a seed phrase, and from it the keys of a node.

    The keys are printed on standard output; if it is a file, the file becomes readable by you only. `key
    insert` takes the file signing_key_file. With --network, --scheme or a password, and as `chainflip-node
    key generate`, it prints one key in the format of `key inspect`, as the official node does.

    \b
      cfnode key generate --path keys > keys.json
      cfnode key generate --output-type text
      cfnode key generate --seed-phrase - --path keys < phrase
      cfnode key generate --scheme ed25519 --network substrate
    """
    if seed_phrase is not None and words is not None:
        raise click.UsageError("--words is for a new phrase; leave it out with --seed-phrase")
    protect_output()
    chosen_password = choose_password(password, password_interactive, password_filename)
    is_one_key = not (network is None and scheme is None and chosen_password is None)
    if is_one_key and path is not None:
        raise click.UsageError("--path saves the keys of a node; leave out --network, --scheme and passwords")
    if is_one_key or (ctx.find_root().info_name == OFFICIAL_NAME and path is None):
        with explained():
            phrase = _phrase(seed_phrase, int(words or 12))
            text = secret_text(
                phrase,
                scheme or "sr25519",
                chosen_password,
                network,
                as_json=as_json or output_type == "json",
            )
        print_secret(text)
        return
    _print_keys_of_a_node(path, seed_phrase, words, as_json or output_type != "text")


def _print_keys_of_a_node(
    path: Path | None, seed_phrase: str | None, words: str | None, is_document: bool
) -> None:
    with explained():
        keys = _make(_phrase(seed_phrase, int(words or 12)))
        if path is not None:
            _save(keys, path)
    printed = print_secret(json.dumps(_document(keys), indent=2) if is_document else _text(keys))
    if path is not None:
        click.echo(f"Saved node_key_file, signing_key_file and ethereum_key_file in {path}", err=True)
    if printed is not Destination.NOWHERE:
        click.echo(BACKUP, err=True)
    elif path is not None:
        click.echo(f"The seed phrase was not printed: only the files in {path} have the keys.", err=True)
    else:
        click.echo("Nothing was printed or saved: these keys are lost.", err=True)


def _phrase(seed_phrase: str | None, words: int) -> str:
    from cfnode.core.bip39 import ENTROPY_LENGTHS, entropy_of, phrase_of

    if seed_phrase is None:
        return phrase_of(secrets.token_bytes(ENTROPY_LENGTHS[words]))
    phrase = " ".join(read_secret(seed_phrase, None, prompt="Seed phrase").split())
    entropy_of(phrase)
    return phrase


def _make(phrase: str) -> _Keys:
    from cfnode.core.ethereum_key import EthereumKey
    from cfnode.core.keys import SEED_LENGTH, Keypair

    node = Keypair.from_seed(secrets.token_bytes(SEED_LENGTH), "ed25519")
    return _Keys(phrase, Keypair.from_suri(phrase), node, EthereumKey.from_phrase(phrase))


def _save(keys: _Keys, path: Path) -> None:
    from cfnode.store import secret_file

    secret_file.create_directory(path)
    secret_file.create_all(
        {
            path / "node_key_file": _seed(keys.node).encode(),
            path / "signing_key_file": _seed(keys.signing).encode(),
            path / "ethereum_key_file": keys.ethereum.secret.hex().encode(),
        }
    )


def _document(keys: _Keys) -> dict[str, Any]:
    from cfnode.core import ss58
    from cfnode.core.peer_id import peer_id

    return {
        "node_key": {"secret_key": _seed(keys.node), "public_key": keys.node.public.hex()},
        "peer_id": peer_id(keys.node.public),
        "seed_phrase": keys.phrase,
        "ethereum_key": {"secret_key": keys.ethereum.secret.hex(), "public_key": keys.ethereum.public.hex()},
        "ethereum_address": keys.ethereum.address.hex(),
        "signing_key": {"secret_key": _seed(keys.signing), "public_key": keys.signing.public.hex()},
        "signing_account_id": ss58.encode(keys.signing.account),
    }


def _text(keys: _Keys) -> str:
    document = _document(keys)
    lines = {
        "Seed phrase": keys.phrase,
        "Account": document["signing_account_id"],
        "Signing secret seed": f"0x{document['signing_key']['secret_key']}",
        "Signing public key": f"0x{document['signing_key']['public_key']}",
        "Node secret": document["node_key"]["secret_key"],
        "Node public key": document["node_key"]["public_key"],
        "Peer id": document["peer_id"],
        "Ethereum secret": f"0x{document['ethereum_key']['secret_key']}",
        "Ethereum public key": f"0x{document['ethereum_key']['public_key']}",
        "Ethereum address": f"0x{document['ethereum_address']}",
    }
    return "\n".join(f"{label + ':':<21}{value}" for label, value in lines.items())


def _seed(pair: Keypair) -> str:
    assert pair.seed is not None  # no junction was followed
    return pair.seed.hex()
