"""A search for a failed call goes as far back as one can be on offer, by the chain's own epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.progress import counting
from cfnode.cli.recover.choosing import choose, find_by_number
from cfnode.cli.recover.steps import Recovery
from cfnode.core.hashing import twox_128
from cfnode.core.scale.errors import NotInMetadataError
from cfnode.sdk.errors import TransportError
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery import Expired, FindCallsOfBatch, FindCandidates, NeedsArchive, NoSuchCall, Progress
from cfnode.sdk.recovery.search import MAX_RECENT, MAX_SENDING, blocks_to_read
from tests.sdk.scripted import Script, session
from tests.support.cli.terminals import PLACES, plain

EPOCH_KEY = "0x" + (twox_128(b"Validator") + twox_128(b"CurrentEpoch")).hex()
ADDRESS = "0x00000000000000000000000000000000000000aa"


class Epochs(Script):
    """A State Chain without events; its epochs begin at `starts`, and states before `oldest` are pruned."""

    def __init__(self, best: int, starts: list[int], oldest: int = 0) -> None:
        super().__init__({"chain_getHeader": {"number": hex(best)}, "cf_all_open_deposit_channels": []})
        self.best = best
        self.starts = starts
        self.oldest = oldest

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        method, params = request["method"], request["params"]
        base = {"jsonrpc": "2.0", "id": request["id"]}
        if method == "chain_getBlockHash":
            return base | {"result": f"0x{params[0] if params else self.best:064x}"}
        if method in ("state_getStorage", "state_getRuntimeVersion"):
            at = int(params[-1], 16)
            if at < self.oldest:
                return base | {"error": {"code": 4003, "message": f"State already discarded for {at}"}}
            if method == "state_getRuntimeVersion":
                return base | {"result": {"specVersion": 1}}
            epoch = sum(start <= at for start in self.starts)
            return base | {
                "result": f"0x{epoch.to_bytes(4, 'little').hex()}" if params[0] == EPOCH_KEY else None
            }
        return super()._reply(request)


class WithoutPallets:
    """The types of a runtime that has no pallet of deposits."""

    def storage_key(self, *_: Any) -> bytes:
        """Raise the error of a runtime without the pallet."""
        raise NotInMetadataError("none")


class Ask:
    """Call that asks only which blocks to read."""

    @staticmethod
    def steps(on: ClientSession) -> Any:
        """Return the steps of the search's range."""
        return blocks_to_read(on, "http://node.test")


@pytest.mark.parametrize(
    ("best", "starts", "oldest", "wanted"),
    [
        (8_086_399, [1, 7_956_800, 8_000_000, 8_043_200], 0, 86_399),
        (8_043_210, [1, 7_956_800, 8_000_000, 8_043_200], 0, 43_210),
        (8_086_399, [1, 7_900_000, 7_990_000, 8_043_200], 0, 96_399),
        (8_086_399, [1, 8_000_000, 8_043_200], 8_086_000, 399),
        (500, [1], 0, 500),
    ],
    ids=[
        "two epochs of three days",
        "a rotation",
        "an epoch that lasted longer",
        "pruned",
        "the first epoch",
    ],
)
def test_a_search_goes_back_to_the_beginning_of_the_last_epoch(
    best: int, starts: list[int], oldest: int, wanted: int
) -> None:
    """Go back to the start of the previous epoch, plus the time in which a payout is sent."""
    first_block = Epochs(best, starts, oldest).run(Ask, session())  # type: ignore[arg-type]
    assert first_block == wanted + MAX_SENDING


def test_what_was_searched_is_said_from_where_to_where() -> None:
    """Name the blocks that were searched, and do not claim that nothing failed before them."""
    best, began = 3_000, 1_500
    on, script = long_search()
    with pytest.raises(NoSuchCall) as caught:
        script.run(FindCandidates(ADDRESS), on)
    text = caught.value.message
    assert f"blocks {best - MAX_RECENT + 1} to {best}" in text
    assert f"blocks {began - MAX_SENDING + 1} to {best}" in text
    assert "nothing failed" not in text
    assert "older deposit" in text


def test_a_transaction_that_no_block_has_may_be_one_of_the_payouts_chain() -> None:
    """Suggest a node of the payout's chain for a transaction that no block names."""
    on, script = long_search(backend_url="http://node.test/swaps")
    name = "0x" + "ab" * 32
    script.pages = {f"/swaps/v2/swaps/{name}": (404, {"message": "no such swap"})}
    with pytest.raises(NeedsArchive) as caught:
        script.run(FindCandidates(name), on)
    assert "for a transaction of the payout's chain a node of that chain (--eth-rpc)" in caught.value.message


def long_search(**options: Any) -> tuple[ClientSession, Epochs]:
    """Return a session and a chain of four epochs without events."""
    on, script = session(**options), Epochs(3_000, [1, 1_000, 1_500, 2_700])
    on.metadata["http://node.test", 1] = WithoutPallets()  # type: ignore[assignment]  # no block has events
    return on, script


def test_a_search_says_how_far_it_is() -> None:
    """Report each part of the search in growing order, up to its whole."""
    on, script = long_search()
    parts: list[Progress] = []
    with pytest.raises(NoSuchCall):
        script.run(FindCandidates(ADDRESS, progress=parts.append), on)
    recent, older = parts[: MAX_RECENT // 25 + 1], parts[MAX_RECENT // 25 + 1 :]
    assert recent[-1] == Progress(f"blocks {3_000 - MAX_RECENT + 1} to 3000", MAX_RECENT, MAX_RECENT)
    counts = [progress.count for progress in older]
    assert (counts, {progress.most for progress in older}) == (sorted(counts), {1_500 + MAX_SENDING})
    assert counts[-1] == older[-1].most


@pytest.mark.parametrize(("place", "has_bar"), [("80 columns", True), ("pipe", False)])
def test_a_bar_is_on_standard_error_of_a_terminal_only(
    place: str, has_bar: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Draw a bar on a terminal's standard error, and print nothing to a pipe."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, value in PLACES[place].items():
        monkeypatch.setenv(name, value)
    with counting("looking for the call") as advance:
        advance("blocks 4 to 9", 30, 100)
    printed = capsys.readouterr()
    assert printed.out == ""
    words = ("looking for the call: blocks 4 to 9", "30%", "0:00:0")
    assert [word in " ".join(plain(printed.err)) for word in words] == [has_bar] * 3
    assert has_bar or printed.err == ""


def test_a_connection_that_is_lost_says_where_the_search_stopped() -> None:
    """Say in the error of a lost connection which blocks had been read."""
    on, script = long_search()
    parts: list[Progress] = []
    steps = FindCandidates(ADDRESS, progress=parts.append).steps(on)
    wanted = next(steps)
    while len(parts) < 30:
        wanted = steps.send(script.answer(wanted))
    with pytest.raises(TransportError, match=f"lost; the search had read {parts[-1].span}"):
        steps.throw(TransportError("lost", url="http://node.test", sent=True, retryable=True))


def test_an_interrupted_search_says_where_it_stopped() -> None:
    """Say after Ctrl-C which blocks had been read, in either search."""

    class Interrupted:
        def call(self, search: FindCandidates | FindCallsOfBatch) -> None:
            assert search.progress is not None
            search.progress(Progress("blocks 4 to 9", 6, 100))
            raise KeyboardInterrupt

    work = Recovery(Interrupted(), None, True, 1.0, {})  # type: ignore[arg-type]  # an SDK of one call
    searches: tuple[Callable[[], object], ...] = (
        lambda: choose(work, ADDRESS, None, None),
        lambda: find_by_number(work, "ethereum", 7, None, Expired("it has expired")),
    )
    for search in searches:
        with pytest.raises(CommandFailure, match="interrupted; blocks 4 to 9 have been read") as caught:
            search()
        assert caught.value.exit_code == ExitCode.INTERRUPTED
