"""IP addresses: the party, and the network, that each counts for."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.ip_addresses import network_of, party_of, peer_address


@pytest.mark.parametrize(
    ("text", "party", "network"),
    [
        ("192.0.2.7", "192.0.2.7", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/64", "fe80::/48"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.0/24"),
        ("::1", "::1", "::/48"),
        ("node.example", "node.example", "node.example"),
        ("", "", ""),
        ("1.2.3", "1.2.3", "1.2.3"),
    ],
)
def test_the_party_and_the_network_of_an_address(text: str, party: str, network: str) -> None:
    """Count an IPv4 address alone and an IPv6 address by its /64 as one party, /24 and /48 as one network."""
    assert (party_of(text), network_of(text)) == (party, network)


HALVES = st.integers(0, 2**64 - 1)
PREFIXES = st.integers(1, 2**64 - 1)
"""The first 64 bits; all zeros are those of this machine, and of IPv4 addresses."""


def address(prefix: int, rest: int) -> str:
    """Return the IPv6 address of both halves."""
    return str(IPv6Address(prefix << 64 | rest))


@given(PREFIXES, PREFIXES, HALVES, HALVES)
def test_two_addresses_are_of_one_party_if_their_first_64_bits_agree(
    prefix: int, other_prefix: int, rest: int, other_rest: int
) -> None:
    """Count IPv6 addresses that agree in their first 64 bits as one party: one customer has them all."""
    one, another = address(prefix, rest), address(prefix, other_rest)
    assert peer_address(one) == ip_address(one)
    assert party_of(one) == party_of(another)
    assert ip_network(party_of(one)).prefixlen == 64
    assert ip_address(one) in ip_network(party_of(one))
    assert (party_of(one) == party_of(address(other_prefix, rest))) is (prefix == other_prefix)


@given(HALVES)
def test_an_address_of_zeros_is_of_this_machine_or_of_ipv4(rest: int) -> None:
    """Count the loopback address and mapped IPv4 addresses by themselves, in a prefix of zeros too."""
    whole = IPv6Address(rest)
    by_itself = whole.is_loopback or whole.ipv4_mapped is not None
    expected = str(whole.ipv4_mapped or whole) if by_itself else "::/64"
    assert party_of(address(0, rest)) == expected
    assert party_of(address(0, 1)) == "::1"
    assert party_of(address(0, 0xFFFF << 32 | rest % 2**32)) == str(IPv4Address(rest % 2**32))


@given(st.text(max_size=60))
def test_no_text_raises_an_error(text: str) -> None:
    """Take any text that is not an address as a party of its own, without an error."""
    assert (party_of(text), network_of(text)) == (text, text) or peer_address(text) is not None
