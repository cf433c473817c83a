"""Fork choice and finality on a bare tree of names: `"b2"` is block 2 of branch b."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.block import BlockRef
from cfnode.node.chain.tree import BlockTree

GENESIS = BlockRef(b"g0", 0)


def block(name: str) -> BlockRef:
    """Return the block of a name."""
    return BlockRef(name.encode(), int(name[1:]))


def grow(tree: BlockTree, *names: str, on: str = "g0") -> None:
    """Add blocks one above the other; the longest chain becomes the best."""
    parent = on.encode()
    for name in names:
        tree.add(block(name), parent)
        parent = name.encode()
        if tree.longer(block(name)):
            tree.set_best(block(name))


def hashes(blocks: tuple[BlockRef, ...]) -> str:
    """Return the names of blocks."""
    return " ".join(block.hash.decode() for block in blocks)


def test_the_first_of_two_equally_long_chains_stays_best() -> None:
    """Keep the first of two equally long chains as the best."""
    tree = BlockTree(GENESIS)
    grow(tree, "a1", "a2")
    grow(tree, "b1", "b2")
    assert tree.best == block("a2")
    assert [tree.hash_at(number) for number in range(4)] == [b"g0", b"a1", b"a2", None]
    assert tree.leaves == 2


def test_a_longer_fork_takes_over_and_the_route_names_both_sides() -> None:
    """Switch to a longer fork, with a route that names both sides."""
    tree = BlockTree(GENESIS)
    grow(tree, "a1", "a2", "a3", "a4", "a5", "a6")
    grow(tree, "b2", "b3", "b4", "b5", "b6", on="a1")
    tree.add(block("b7"), b"b6")
    route = tree.set_best(block("b7"))
    assert hashes(route.retracted) == "a6 a5 a4 a3 a2"
    assert route.common == block("a1")
    assert hashes(route.enacted) == "b2 b3 b4 b5 b6 b7"
    assert [tree.hash_at(number) for number in (1, 2, 7)] == [b"a1", b"b2", b"b7"]


def test_finality_keeps_the_descendants_and_drops_the_rest() -> None:
    """Keep the descendants of a final block, and drop all others."""
    tree = BlockTree(GENESIS)
    grow(tree, "a1", "a2", "a3")
    grow(tree, "b2", on="a1")
    grow(tree, "c1", "c2")
    cut = tree.finalize(b"a2")
    assert hashes(cut.finalized) == "a1 a2"
    assert hashes(cut.dropped) == "b2 c1 c2"
    assert (tree.finalized, tree.best, len(tree)) == (block("a2"), block("a3"), 1)
    assert [tree.hash_at(number) for number in range(5)] == [None, None, b"a2", b"a3", None]
    assert b"b2" not in tree


def test_finality_of_the_shorter_fork_makes_its_longest_head_the_best() -> None:
    """Choose the longest head above the final block when finality takes the shorter fork."""
    tree = BlockTree(GENESIS)
    grow(tree, "a1", "a2", "a3")
    grow(tree, "b1", "b2")
    grow(tree, "d2", on="b1")
    assert tree.longest_above(b"b1") == block("b2")
    assert tree.longest_above(b"a1") == block("a3")
    tree.set_best(block("b2"))
    tree.finalize(b"b1")
    assert (tree.best, tree.hash_at(2), len(tree)) == (block("b2"), b"b2", 2)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["add", "finalize"]), st.integers(0, 30)), max_size=60))
def test_the_tree_agrees_with_a_plain_dictionary_of_parents(story: list[tuple[str, int]]) -> None:
    """Agree with a plain dictionary of parents after any sequence of blocks and finality."""
    tree, parents = BlockTree(GENESIS), {b"g0": b""}
    live = [GENESIS]
    for count, (step, choice) in enumerate(story, start=1):
        target = live[choice % len(live)]
        if step == "add":
            new = BlockRef(b"%d" % count, target.number + 1)
            parents[new.hash] = target.hash
            tree.add(new, target.hash)
            live.append(new)
            if tree.longer(new):
                tree.set_best(new)
        else:
            if not tree.is_ancestor(target.hash, tree.best.hash):
                tree.set_best(tree.longest_above(target.hash))
            tree.finalize(target.hash)
            live = [block for block in live if target.hash in line(parents, block.hash)]
        assert len(tree) == len(live) - 1
        assert tree.best.number == max(block.number for block in live)
        best_line = line(parents, tree.best.hash)
        assert [tree.hash_at(block.number) for block in live if block.hash in best_line] == [
            block.hash for block in live if block.hash in best_line
        ]


def line(parents: dict[bytes, bytes], block_hash: bytes) -> list[bytes]:
    """Return the block and its ancestors."""
    ancestors = []
    while block_hash:
        ancestors.append(block_hash)
        block_hash = parents[block_hash]
    return ancestors
