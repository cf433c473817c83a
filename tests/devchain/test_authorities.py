"""Whose keys a development chain has."""

from __future__ import annotations

import pytest

from cfnode.core.keys import Keypair
from cfnode.devchain.authorities import AuthoritiesError, read_authorities


def test_authorities_are_named_by_their_secret_uris() -> None:
    """Derive both keys of an authority from its secret URI."""
    named = read_authorities("//Alice, //Bob//stash")
    assert [keys.aura.public for keys in named] == [
        Keypair.from_suri(name).public for name in ("//Alice", "//Bob//stash")
    ]
    assert [keys.grandpa.scheme for keys in named] == ["ed25519", "ed25519"]
    assert [keys.weight for keys in named] == [1, 1]


def test_without_names_there_are_as_many_well_known_ones_as_wanted() -> None:
    """Choose as many well-known authorities as asked for where none is named."""
    assert read_authorities(None) == read_authorities("1") == read_authorities("//Alice")
    assert read_authorities(None, default=2) == read_authorities("//Alice,//Bob")


def test_errors_of_names_do_not_repeat_them() -> None:
    """Repeat no secret in an error: it would end up in a log."""
    with pytest.raises(AuthoritiesError, match="1 to 1000 authorities"):
        read_authorities("//a," * 1_000 + "//a")
    with pytest.raises(AuthoritiesError, match="authority 2") as caught:
        read_authorities("//Alice,secret words that are no phrase")
    assert "secret words" not in str(caught.value)
