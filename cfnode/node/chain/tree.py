"""The tree of unfinalized blocks: the best chain, and routes between blocks.

The longest chain is the best; among equals the first imported one stays (Substrate's `LongestChain`). The
tree contains only hashes, parents and numbers: headers and bodies are in the store.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.block import BlockRef


@dataclass(frozen=True, slots=True)
class Route:
    """The route from one block to another: `retracted` newest first, then `enacted` oldest first."""

    retracted: tuple[BlockRef, ...]
    common: BlockRef
    enacted: tuple[BlockRef, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """The blocks that a finalization removed: `finalized` oldest first, `dropped` in the order of import."""

    finalized: tuple[BlockRef, ...]
    dropped: tuple[BlockRef, ...]


class BlockTree:
    """The unfinalized blocks, rooted at the last finalized one."""

    def __init__(self, finalized: BlockRef) -> None:
        self.finalized = finalized
        self.best = finalized
        self._blocks: dict[bytes, tuple[BlockRef, bytes]] = {}  # hash -> (block, parent), in order of import
        self._children: dict[bytes, int] = {}
        self._canonical: list[bytes] = []  # the best chain above the finalized block

    def copy(self) -> BlockTree:
        """Return an independent copy of the tree."""
        tree = BlockTree(self.finalized)
        tree.best = self.best
        tree._blocks, tree._children = dict(self._blocks), dict(self._children)
        tree._canonical = list(self._canonical)
        return tree

    def __contains__(self, block_hash: bytes) -> bool:
        """Return whether the block is the last finalized one or descends from it in the tree."""
        return block_hash == self.finalized.hash or block_hash in self._blocks

    def __len__(self) -> int:
        """Return the number of unfinalized blocks; the root does not count."""
        return len(self._blocks)

    @property
    def leaves(self) -> int:
        """The number of blocks without a child (at least one: the finalized block of an empty tree)."""
        return max(1, sum(1 for block_hash in self._blocks if not self._children.get(block_hash)))

    def hashes(self) -> set[bytes]:
        """Return the hashes of the unfinalized blocks."""
        return set(self._blocks)

    def blocks(self) -> list[tuple[BlockRef, bytes]]:
        """Return the unfinalized blocks, each with its parent's hash; parents first."""
        return list(self._blocks.values())

    def block(self, block_hash: bytes) -> BlockRef:
        """Return the block with that hash. Raise KeyError if it is not in the tree."""
        return self.finalized if block_hash == self.finalized.hash else self._blocks[block_hash][0]

    def parent(self, block_hash: bytes) -> bytes:
        """Return the parent's hash of an unfinalized block. Raise KeyError for any other."""
        return self._blocks[block_hash][1]

    def hash_at(self, number: int) -> bytes | None:
        """Return the hash of the best chain's block at `number`; None outside of final to best."""
        if number == self.finalized.number:
            return self.finalized.hash
        index = number - self.finalized.number - 1
        return self._canonical[index] if 0 <= index < len(self._canonical) else None

    def add(self, block: BlockRef, parent: bytes) -> None:
        """Add `block` as a child of `parent`, which must be in the tree; the best chain does not move yet."""
        assert self.block(parent).number + 1 == block.number
        self._blocks[block.hash] = (block, parent)
        self._children[parent] = self._children.get(parent, 0) + 1

    def longer(self, block: BlockRef) -> bool:
        """Return whether `block` would become the head of the best chain."""
        return block.number > self.best.number

    def set_best(self, block: BlockRef) -> Route:
        """Make `block` the head; return the route from the old head."""
        route = self.route(self.best.hash, block.hash)
        del self._canonical[route.common.number - self.finalized.number :]
        self._canonical.extend(ref.hash for ref in route.enacted)
        self.best = block
        return route

    def path(self, block_hash: bytes) -> tuple[BlockRef, ...]:
        """Return the blocks above the finalized one up to and including `block_hash`, oldest first."""
        path: list[BlockRef] = []
        while block_hash != self.finalized.hash:
            block, block_hash = self._blocks[block_hash]
            path.append(block)
        return tuple(reversed(path))

    def ancestor(self, block_hash: bytes, number: int) -> BlockRef:
        """Return the ancestor (or the block itself) at `number`, not below the finalized block."""
        block = self.block(block_hash)
        while block.number > number:
            block = self.block(self.parent(block.hash))
        return block

    def is_ancestor(self, base: bytes, block_hash: bytes) -> bool:
        """Return whether `base` is an ancestor of `block_hash`, or the same block.

        Both must be in the tree.
        """
        return self.ancestor(block_hash, self.block(base).number).hash == base

    def route(self, start: bytes, end: bytes) -> Route:
        """Return the route between two blocks of the tree."""
        low, high = self.block(start), self.block(end)
        retracted: list[BlockRef] = []
        enacted: list[BlockRef] = []
        while low != high:
            if low.number >= high.number:
                retracted.append(low)
                low = self.block(self.parent(low.hash))
            else:
                enacted.append(high)
                high = self.block(self.parent(high.hash))
        return Route(tuple(retracted), low, tuple(reversed(enacted)))

    def finalize(self, block_hash: bytes) -> Cut:
        """Make `block_hash` the root. The best head must already descend from it."""
        path = self.path(block_hash)
        if not path:
            return Cut((), ())
        self.finalized = path[-1]
        kept_hashes = {self.finalized.hash}
        blocks: dict[bytes, tuple[BlockRef, bytes]] = {}
        on_path = {block.hash for block in path}
        dropped: list[BlockRef] = []
        for known_hash, (block, parent) in self._blocks.items():  # parents come before children
            if parent in kept_hashes:
                kept_hashes.add(known_hash)
                blocks[known_hash] = (block, parent)
            elif known_hash not in on_path:
                dropped.append(block)
        self._blocks = blocks
        self._children = {key: count for key, count in self._children.items() if key in kept_hashes}
        del self._canonical[: len(path)]
        return Cut(path, tuple(dropped))

    def longest_above(self, block_hash: bytes) -> BlockRef:
        """Return the best head among `block_hash` and its descendants; the present head wins ties."""
        best = self.best if self.is_ancestor(block_hash, self.best.hash) else self.block(block_hash)
        descends = {block_hash}
        for known_hash, (block, parent) in self._blocks.items():
            if parent in descends:
                descends.add(known_hash)
                if block.number > best.number:
                    best = block
        return best
