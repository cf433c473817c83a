"""Releases of Chainflip's swap SDK read the swaps of a number that was given out three times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.interop.chainflip_sdk import BOTH_FORMS, NEWER_FORM, OLDER
from tests.support.interop.programs import report_of, script_of
from tests.swap_service.live import running_service
from tests.swap_service.partners import books_of, broker_chain
from tests.swap_service.reused import ETHER, three_channels

pytestmark = pytest.mark.world


@pytest.mark.parametrize("sdk", [OLDER, BOTH_FORMS, NEWER_FORM])
def test_an_sdk_sees_no_swap_of_an_earlier_channel(sdk: str, node_modules: Path, tmp_path: Path) -> None:
    """The first was swapped, the second refunded, the third never paid; on the node and from books."""
    if not (node_modules / sdk).exists():
        pytest.skip("Chainflip's SDK is not among the Node.js peers: scripts/peers installs it")
    script = script_of("chainflip_sdk_reused.mjs", node_modules, tmp_path)
    with broker_chain(tmp_path / "chain") as chain:
        channels = [str(channel) for channel, _ in three_channels(chain.chain)]
        with (
            books_of(chain.url, "sqlite", tmp_path) as books,
            running_service(books, chain.url) as service,
        ):
            urls = (chain.url, service.url)
            report = report_of("node", script, sdk, ",".join(urls), *channels)
    for url in urls:
        first, second, third = report["V2"][url]
        assert [status["state"] for status in (first, second, third)] == ["COMPLETED", "COMPLETED", "WAITING"]
        assert [status["depositChannel"]["id"] for status in (first, second, third)] == channels
        assert [first["deposit"]["amount"], second["deposit"]["amount"]] == [str(ETHER), str(2 * ETHER)]
        assert ("swapEgress" in first, "refundEgress" in first) == (True, False)
        assert ("swapEgress" in second, "refundEgress" in second) == (False, True)
        assert not {"deposit", "swapId", "swapEgress", "refundEgress"} & set(third)
        if sdk != NEWER_FORM:
            states = [status["state"] for status in report["V1"][url]]
            assert states == ["COMPLETE", "COMPLETE", "AWAITING_DEPOSIT"]
