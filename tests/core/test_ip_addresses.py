"""IP addresses: the party, and the network, that each counts for."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

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


@given(st.ip_addresses(v=6).map(str), st.ip_addresses(v=6).map(str))
def test_two_addresses_are_of_one_party_if_their_first_64_bits_agree(one: str, another: str) -> None:
    """Count IPv6 addresses that agree in their first 64 bits as one party: one customer has them all."""
    shared = str(ip_address((int(ip_address(one)) >> 64 << 64) | (int(ip_address(another)) & (1 << 64) - 1)))
    parsed = peer_address(shared), peer_address(one)
    if all(address is not None and address.version == 6 and not address.is_loopback for address in parsed):
        assert party_of(one) == party_of(shared)
        assert ip_address(one) in ip_network(party_of(one))


@given(st.text(max_size=60))
def test_no_text_raises_an_error(text: str) -> None:
    """Take any text that is not an address as a party of its own, without an error."""
    assert (party_of(text), network_of(text)) == (text, text) or peer_address(text) is not None
