"""The authorities of a development chain: their Aura and GRANDPA keys, from `--dev-authorities`.

`--dev-authorities 4` means four equal authorities with well-known keys, such as `//Alice`.
`--dev-authorities //Alice,//Bob` names them by their secret URIs. A JSON file lists them one by one, with
weights:

    [{"suri": "//Alice", "weight": 3}, {"aura": "//Bob", "grandpa": "0x…"}]

An authority has an Aura key (sr25519) and a GRANDPA key (ed25519), of one secret URI or of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfnode.core.foreign import ForeignError, read_bounded, read_json
from cfnode.core.keys import Keypair
from cfnode.core.suri import SuriError
from cfnode.devchain.runtime.well_known import authority_uri

ENGINE_SURI = "//Engine"
"""The secret URI of the authority that `build-spec --engine` makes: the well-known accounts stay users."""
MAX_DEV_AUTHORITIES = 1_000
MAX_AUTHORITIES_BYTES = 1024 * 1024
MAX_DEV_WEIGHT = 1_000_000


class AuthoritiesError(ValueError):
    """An invalid value of --dev-authorities; the text says why."""


@dataclass(frozen=True, slots=True)
class AuthorityKeys:
    """The key pairs of one authority and its GRANDPA weight."""

    aura: Keypair
    grandpa: Keypair
    weight: int = 1

    @classmethod
    def from_suri(cls, aura: str, grandpa: str | None = None, weight: int = 1) -> AuthorityKeys:
        """Derive both keys from secret URIs; `grandpa` defaults to `aura`. Raises SuriError."""
        return cls(Keypair.from_suri(aura, "sr25519"), Keypair.from_suri(grandpa or aura, "ed25519"), weight)


def well_known(count: int) -> tuple[AuthorityKeys, ...]:
    """Return `count` equal authorities with the names of the development genesis: `//Alice`, `//Bob`, ….

    Raises AuthoritiesError.
    """
    if not 1 <= count <= MAX_DEV_AUTHORITIES:
        raise AuthoritiesError(f"a development chain has 1 to {MAX_DEV_AUTHORITIES} authorities, not {count}")
    return tuple(AuthorityKeys.from_suri(authority_uri(index)) for index in range(count))


def named_authorities(value: str) -> tuple[AuthorityKeys, ...]:
    """Return the authorities of comma-separated secret URIs. Raises AuthoritiesError."""
    suris = value.split(",", MAX_DEV_AUTHORITIES)
    if len(suris) > MAX_DEV_AUTHORITIES:
        raise AuthoritiesError(f"a development chain has 1 to {MAX_DEV_AUTHORITIES} authorities")
    return tuple(_of_suri(suri.strip(), f"authority {number}") for number, suri in enumerate(suris, 1))


def _of_suri(suri: str, place: str) -> AuthorityKeys:
    try:
        return AuthorityKeys.from_suri(suri)
    except SuriError as error:
        raise AuthoritiesError(f"--dev-authorities, {place}: {error}") from None


def read_authorities(value: str | None, *, default: int = 1) -> tuple[AuthorityKeys, ...]:
    """Read the authorities of `--dev-authorities`: a number, secret URIs (`//…`), or else a file.

    None stands for `default` well-known ones. Raises AuthoritiesError.
    """
    if value is None:
        return well_known(default)
    if value.startswith("//"):
        return named_authorities(value)
    if value.isascii() and value.isdigit():
        return well_known(int(value[:10]))
    try:
        with Path(value).open("rb") as file:
            document = read_json(read_bounded(file, MAX_AUTHORITIES_BYTES))
    except OSError as error:
        raise AuthoritiesError(
            f"--dev-authorities takes a number or a JSON file; {value}: {error.strerror}"
        ) from None
    except ForeignError as error:
        raise AuthoritiesError(f"{value} {error}") from None
    if not isinstance(document, list) or not 1 <= len(document) <= MAX_DEV_AUTHORITIES:
        raise AuthoritiesError(f"{value}: expected a list of 1 to {MAX_DEV_AUTHORITIES} authorities")
    return tuple(_authority(entry, f"{value}: [{index}]") for index, entry in enumerate(document))


def _authority(entry: Any, place: str) -> AuthorityKeys:
    if not isinstance(entry, dict) or not set(entry) <= {"suri", "aura", "grandpa", "weight"}:
        raise AuthoritiesError(
            f'{place}: expected an object with "suri" (or "aura" and "grandpa") and "weight"'
        )
    weight = entry.get("weight", 1)
    if type(weight) is not int or not 1 <= weight <= MAX_DEV_WEIGHT:
        raise AuthoritiesError(f"{place}.weight: expected a number from 1 to {MAX_DEV_WEIGHT}")
    suri = entry.get("suri")
    aura, grandpa = entry.get("aura", suri), entry.get("grandpa", suri)
    if not isinstance(aura, str) or not isinstance(grandpa, str):
        raise AuthoritiesError(f'{place}: expected "suri", or both "aura" and "grandpa", as text')
    try:
        return AuthorityKeys.from_suri(aura, grandpa, weight)
    except SuriError as error:
        raise AuthoritiesError(f"{place}: {error}") from None
