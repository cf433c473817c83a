"""The next range is asked for while the last one is checked and written, if its peer is quick."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from cfnode.core.wire.state import StateRequest
from cfnode.node.sync.warping import state_ranges
from cfnode.node.sync.warping.state_ranges import MAX_AHEAD, QUICK_S
from tests.node.conftest import MakeRig
from tests.support.node import states


class OpenRequests:
    """The requests for ranges that are open at a time, of each peer and of all."""

    def __init__(self, client: states.Client) -> None:
        self.most_of_peer = self.most = 0
        self._open: dict[str, int] = {}
        self._request = client.network.request
        client.network.request = self.request  # type: ignore[method-assign]

    async def request(self, peer: str, protocol: str, data: bytes, *, seconds: float | None = None) -> bytes:
        """Count a request for a range as open until its answer comes."""
        self._open[peer] = self._open.get(peer, 0) + (protocol == "state/2")
        self.most_of_peer = max(self.most_of_peer, self._open[peer])
        self.most = max(self.most, sum(self._open.values()))
        try:
            return await self._request(peer, protocol, data, seconds=seconds)
        finally:
            self._open[peer] -= protocol == "state/2"


async def download(
    make_rig: MakeRig, path: Path, monkeypatch: pytest.MonkeyPatch, delay: float, *peers: str
) -> tuple[OpenRequests, states.Client]:
    """Return a whole download, from peers that take so many seconds for an answer."""
    client = states.Client(await states.grown(make_rig, monkeypatch), path, **dict.fromkeys(peers))
    for other in client.network.others.values():
        other.delay = delay
    requests = OpenRequests(client)
    await client.run()
    client.assert_same()
    assert client.network.reports == []
    return requests, client


async def test_a_quick_peer_is_asked_for_two_ranges_at_once(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient_clock: MockClock
) -> None:
    """Ask a quick peer for two ranges at once, and for none twice."""
    requests, client = await download(make_rig, tmp_path, monkeypatch, QUICK_S / 2, "quick")
    assert requests.most_of_peer == 2
    starts = [StateRequest.decode(data).start for _, kind, data in client.network.asked if kind == "state/2"]
    assert len(set(starts)) == len(starts) > 10, "nothing is asked for twice"


async def test_a_slow_peer_is_asked_for_one_range_after_the_other(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient_clock: MockClock
) -> None:
    """Ask a slow peer for one range at a time."""
    requests, _ = await download(make_rig, tmp_path, monkeypatch, QUICK_S, "slow")
    assert requests.most_of_peer == 1


async def test_a_peer_of_small_answers_is_asked_for_one_range_after_the_other(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ask a peer of small answers for one range at a time."""
    monkeypatch.setattr(state_ranges, "MAX_SMALL", 1_000)
    client = states.Client(await states.grown(make_rig, monkeypatch), tmp_path, small=None)
    monkeypatch.setattr(state_ranges, "SMALL_ANSWER", 1 << 20)
    requests = OpenRequests(client)
    await client.run()
    client.assert_same()
    assert requests.most_of_peer == 1


async def test_where_many_peers_help_none_is_asked_ahead(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient_clock: MockClock
) -> None:
    """Ask none ahead where many peers help."""
    names = [f"peer {number}" for number in range(MAX_AHEAD)]
    requests, _ = await download(make_rig, tmp_path, monkeypatch, QUICK_S / 2, *names)
    assert requests.most == MAX_AHEAD
    assert requests.most_of_peer == 1
