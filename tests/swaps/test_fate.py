"""What is said of a payout is what a vault would do with the calls that the chain has signed for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from random import Random

import pytest

from cfnode.swaps.fate import CALL_CHAINS, EXPLANATIONS, Evidence, Fate, Signed, fate
from cfnode.swaps.journey import JourneyState
from tests.conftest import ROOT
from tests.support.swaps.payouts import PayoutLife

UNDERWAY = (JourneyState.SCHEDULED, JourneyState.SIGNING, JourneyState.SENT)
LIVES, STEPS = 400, 16


def moments() -> list[PayoutLife]:
    """Return each moment of random lives."""
    copies = []
    for seed in range(LIVES):
        random = Random(seed)
        life = PayoutLife(random, is_message=seed % 3 == 0)
        for _ in range(STEPS):
            life.step()
            assert life.paid <= 1
            copies.append(replace(life, steps=[*life.steps], signed=[*life.signed], used={*life.used}))
    return copies


MOMENTS = moments()


def test_with_all_evidence_the_fate_is_what_the_vault_does() -> None:
    """Say of each moment of 400 lives what a model of the vault does with the calls signed so far."""
    said = set()
    for life in MOMENTS:
        verdict, taken = (
            fate(life.evidence()),
            [transaction for transaction in life.signed if life.takes(transaction)],
        )
        said.add(verdict)
        about = (verdict, life)
        if life.state in UNDERWAY and not life.used:
            assert verdict is Fate.ON_ITS_WAY, about
            continue
        assert verdict.has_call is bool(taken), about
        assert {transaction.is_batch for transaction in taken} <= {verdict is Fate.BATCH_ON_OFFER}, about
        assert life.paid == 1 or verdict is not Fate.PAID, about
        assert life.paid == 0 or verdict in (Fate.PAID, Fate.ON_ITS_WAY), about
        assert verdict is not Fate.UNSIGNED or life.waits or life.is_listed, about
        assert verdict not in (Fate.UNKNOWN, Fate.WITHOUT_CALL), about
    assert said == set(Fate) - {Fate.UNKNOWN, Fate.WITHOUT_CALL}


def test_nothing_comes_after_an_expiry() -> None:
    """No key of later epochs makes a call of it, whatever the chain signs by itself."""
    expired = [moment for moment in MOMENTS if fate(moment.evidence()) is Fate.EXPIRED]
    for life in expired[:: max(len(expired) // 100, 1)]:
        later = deepcopy(life)
        for _ in range(4):
            assert not later.waits
            assert not any(later.takes(transaction) for transaction in later.signed), life
            later.rotate()


def test_with_less_evidence_nothing_is_said_to_be_lost_that_is_not() -> None:
    """Claim PAID only for what was paid, and never deny a call that the vault takes, by any evidence."""
    for life in MOMENTS:
        full = life.evidence()
        knows_no_vault = replace(full, is_used=None)
        for known in (
            knows_no_vault,
            replace(knows_no_vault, is_listed=None),
            replace(knows_no_vault, state=None),
            replace(knows_no_vault, signed=Signed.NOT, is_listed=None),
            life.document(),
            Evidence("Ethereum", is_listed=life.is_listed),
            Evidence("Ethereum"),
        ):
            verdict, about = fate(known), (known, life)
            assert verdict is not Fate.PAID or life.paid == 1, about
            if life.state not in UNDERWAY and any(life.takes(transaction) for transaction in life.signed):
                assert verdict.may_have_call, about


def test_without_evidence_nothing_is_said() -> None:
    """Return UNKNOWN for each chain with calls where there is no evidence."""
    assert {fate(Evidence(chain)) for chain in CALL_CHAINS} == {Fate.UNKNOWN}


@pytest.mark.parametrize("state", [JourneyState.ABORTED, JourneyState.FAILED])
def test_other_chains_have_no_calls(state: JourneyState) -> None:
    """Return WITHOUT_CALL for Bitcoin: no one but the validators can send its transactions."""
    assert fate(Evidence("Bitcoin", state, signed=Signed.NOW)) is Fate.WITHOUT_CALL


def test_a_batch_that_somebody_sent_may_have_left_a_transfer_out() -> None:
    """Wait for the settlement of a used batch: the vault may have skipped this one transfer."""
    sent = Evidence("Bsc", JourneyState.ABORTED, is_batch=True, signed=Signed.NOW, is_used=True)
    assert fate(sent) is Fate.ON_ITS_WAY
    assert fate(replace(sent, state=JourneyState.PAID, is_settled=False)) is Fate.ON_ITS_WAY
    assert fate(replace(sent, state=JourneyState.PAID)) is Fate.PAID


def test_each_fate_has_its_words_and_a_row_of_the_page() -> None:
    """Have an explanation in the code and a row on the page for each fate, in the same order."""
    assert set(EXPLANATIONS) == set(Fate)
    page = (ROOT / "docs/design/swaps.md").read_text()
    rows = re.findall(
        r"^\| (\w+) \|", page.partition("## The fate of a payout")[2].partition("## Times")[0], re.M
    )
    assert rows == ["fate", *Fate]


def test_the_fate_is_decided_in_one_place() -> None:
    """All other code compares fates, gives them words, or takes what `fate` has returned."""
    deciding = []
    for path in sorted((ROOT / "cfnode").rglob("*.py")):
        if path == ROOT / "cfnode/swaps/fate.py" or "Fate." not in (text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            chosen = [*_chosen(node)]
            deciding += [f"{path.relative_to(ROOT)}:{node.lineno}" for node in chosen if _is_fate(node)]
    assert deciding == []


def _chosen(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the values that a statement or a call makes the fate of a payout."""
    match node:
        case (
            ast.Return(value=ast.expr() as value)
            | ast.Assign(value=value)
            | ast.AnnAssign(value=ast.expr() as value)
        ):
            yield value
        case ast.Call(args=arguments, keywords=keywords):
            yield from (*arguments, *(keyword.value for keyword in keywords))
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)


def _is_fate(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "Fate"
