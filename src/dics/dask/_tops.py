"""Trees that are grown by rows: each worker keeps the codes of its own.

The upper nodes are split by all workers together, level by level over a group of trees.
Then the rows of each node that is small enough go to one worker, which grows what is
below it (see `dics._tree_tops`). When a worker is lost, the group of trees is grown
again.
"""

from __future__ import annotations

import heapq
import logging
import secrets
from typing import Any, NamedTuple

import dask
import numpy as np
import numpy.typing as npt
from distributed import Future

from dics._apart_nodes import ApartRows, grow_apart, joined_rows, summed_rows
from dics._grow_call import GrowCall, Targets, joined_targets
from dics._joined_trees import joined_tree, one_behind_the_other, weight_of_tree
from dics._progress import Progress
from dics._tree_tops import Tops, grow_tops
from dics._validation import MAX_COUNT, wide_count
from dics.dask._links import TOKEN_BYTES, Address
from dics.dask._parts import threads_of_worker
from dics.dask._ranks import MOST_RESTARTS, Placement, Ranks
from dics.dask._reports import new_topic
from dics.dask._row_limits import check_leaf, check_own_rows
from dics.dask._watch import LOST, Watch, WorkersLost
from dics.dask._worker import Port, ends_unwanted, linked

LOG = logging.getLogger("dics.dask")
# Nodes for each worker to grow apart, about: enough to share them out evenly.
NODES_OF_WORKER = 8
# Fewer rows than this are never worth a sum.
LEAST_APART = 1000
# Share of a worker's memory for the rows of a node, and for those of a group of trees.
NODE_SHARE = 0.1
GROUP_SHARE = 0.2
# Of a row in the trees of a group: its place, number, label or cells, and counts.
ROW_BYTES = 64
# For the group of workers that have no limit.
GROUP_BYTES = 1 << 30


class Part(NamedTuple):
    """What a worker knows of a partition after the upper nodes were split."""

    first: int  # number of its first row
    tops: Tops
    targets: Targets


class TopTask(NamedTuple):
    """What all ranks are told."""

    fit: str
    token: bytes
    addresses: list[Address]
    run_starts: npt.NDArray[np.int64]
    call: GrowCall


class TopResult(NamedTuple):
    """What a rank has: the upper nodes, and its partitions."""

    trees: list[dict[str, Any]]
    parts: list[Part]
    n_sums: int
    bytes_sent: int


class Wanted(NamedTuple):
    """Nodes of a tree that one worker grows."""

    tree: int
    nodes: npt.NDArray[np.int32]
    may_split: bool  # leaves need no codes
    # Of leaves that have more rows than can come together: what a row counts, if it
    # has no weight. Otherwise 0.
    summed_unit: int


# --- on a worker --------------------------------------------------------------


def top_rank(
    rank: int,
    task: TopTask,
    runs: npt.NDArray[np.int64],
    targets: Targets,
    codes: list[npt.NDArray[np.uint8]],
) -> TopResult | None:
    """Split the upper nodes with the other ranks; None if one is lost.

    `runs` are those of the partitions, and `codes` theirs, [feature][row][1].
    """
    own = np.ascontiguousarray(
        np.concatenate([part[:, :, 0] for part in codes], axis=1)
    )
    numbers = np.concatenate(
        [np.arange(number, number + n) for _, number, n in runs], dtype=np.int64
    )
    with linked(
        rank, task.fit, task.token, task.addresses, runs, task.run_starts
    ) as links:
        if links is None:
            return None
        tops = grow_tops(
            task.call, own, targets, numbers, links.peers, threads_of_worker()
        )
        if tops is None:
            return None
        parts = [
            Part(
                int(number),
                tops.of_rows(slice(at, at + n)),
                targets.take(slice(at, at + n)),
            )
            for at, number, n in runs
        ]
        return TopResult(tops.trees, parts, links.n_sums, links.bytes_of_all)


def trees_of(result: TopResult | None) -> tuple[list[dict[str, Any]], int, int] | None:
    """Return the upper nodes that a rank has, the sums that it took and their bytes."""
    return None if result is None else (result.trees, result.n_sums, result.bytes_sent)


def part_of(result: TopResult, number: int) -> Part:
    """Return one of the partitions of a rank."""
    return result.parts[number]


def rows_apart(
    part: Part, X: Any, wanted: list[Wanted], *, are_codes: bool
) -> list[ApartRows]:
    """Return the rows of a partition that are in some nodes.

    X is the partition's, or its codes. Where leaves have more rows than can come
    together, a row for each class stands for them.
    """
    found = [_rows_of(part, X, nodes, are_codes=are_codes) for nodes in wanted]
    return [
        summed_rows(rows, nodes.summed_unit) if nodes.summed_unit else rows
        for nodes, rows in zip(wanted, found, strict=True)
    ]


def _rows_of(part: Part, X: Any, wanted: Wanted, *, are_codes: bool) -> ApartRows:
    tops = part.tops
    place = tops.place[wanted.tree]
    is_wanted = np.zeros(len(tops.trees[wanted.tree]["apart"]) + 1, dtype=bool)
    is_wanted[wanted.nodes] = True  # and the last is for rows that take no part
    rows = np.flatnonzero(is_wanted[place])
    return ApartRows(
        place[rows],
        part.first + rows,
        part.targets.take(rows),
        None if tops.counts is None else tops.counts[wanted.tree][rows],
        X[:, rows, 0] if wanted.may_split and are_codes else None,
        X[rows] if wanted.may_split and not are_codes else None,
    )


def grow_wanted(
    call: GrowCall,
    trees: list[dict[str, Any]],
    wanted: list[Wanted],
    parts: list[list[ApartRows]],
) -> list[dict[int, dict[str, Any]]]:
    """Grow nodes from their rows, which partitions have sent in the order of X."""
    grown = []
    for i, nodes in enumerate(wanted):
        rows = joined_rows([part[i] for part in parts])
        for part in parts:
            part[i] = None  # type: ignore[call-overload]  # not twice in memory
        with ends_unwanted():
            grown.append(grow_apart(call, trees[nodes.tree], rows, threads_of_worker()))
    return grown


# --- on the client ------------------------------------------------------------


class TopSession(Ranks):
    """Grows trees by rows.

    Parameters
    ----------
    watch : Watch
    codes : list of Future
        Of the partitions, those without rows left out.
    values : list of Delayed or None
        The partitions, for trees that make thresholds anew.
    starts : ndarray
        Numbers of the first rows of the partitions, and of all rows.
    targets : Targets
        Of all rows.
    """

    def __init__(
        self,
        watch: Watch,
        codes: list[Future],
        values: list[Any] | None,
        starts: npt.NDArray[np.int64],
        targets: Targets,
    ) -> None:
        super().__init__(watch, [codes])
        self.values = values
        self.starts = starts
        self.targets = targets

    def grow(self, call: GrowCall, trees: range, progress: Progress) -> dict[str, Any]:
        """Return the arrays of some trees."""
        grown: list[dict[str, Any]] = []
        size = self._group_size()
        for first in range(trees.start, trees.stop, size):
            group = range(first, min(trees.stop, first + size))
            grown += self._group(call.for_trees(group))
            progress.update(len(grown))
        return one_behind_the_other(grown)

    def _group(self, call: GrowCall) -> list[dict[str, Any]]:
        for _ in range(MOST_RESTARTS):
            self.fit = new_topic()  # or Dask would take what the last group has given
            grown = self._attempt(call)
            if grown is not None:
                return grown
        raise WorkersLost(f"workers were lost {MOST_RESTARTS} times in one fit.")

    def _memory(self) -> int | None:
        """Return how many bytes the smallest worker may use, if there is a limit."""
        limits = list(self.watch.memory().values())
        return min(limits) if limits and min(limits) > 0 else None

    def _group_size(self) -> int:
        """Return how many trees are grown together."""
        limit = self._memory()
        room = GROUP_BYTES if limit is None else GROUP_SHARE * limit
        own_rows = self.starts[-1] / max(1, len(self.watch.alive()))
        return max(1, int(room / (ROW_BYTES * max(1.0, own_rows))))

    def _apart_rows(self, n_workers: int, n_features: int) -> int:
        """Return how many rows a node has at most that is grown apart."""
        rows = min(MAX_COUNT, int(self.starts[-1]) // (NODES_OF_WORKER * n_workers))
        limit = self._memory()
        if limit is not None:
            rows = min(rows, int(NODE_SHARE * limit / (n_features + ROW_BYTES)))
        return max(LEAST_APART, rows)

    def _attempt(self, call: GrowCall) -> list[dict[str, Any]] | None:
        """Grow a group of trees; None if a worker is lost."""
        placement = self._place()
        futures: list[Future] = []
        try:
            ports = self._open_ports(placement.workers)
            if ports is None:
                return None
            n_workers = len(placement.workers)
            apart_rows = self._apart_rows(n_workers, len(call.columns))
            if call.settings["draws_cuts"]:  # each tree by one worker, from all rows
                apart_rows = int(self.starts[-1])
            call = call._replace(apart_rows=apart_rows)
            futures = self._start_ranks(call, placement, ports)
            if not self._wait(futures, placement.workers):
                return None
            head = self.client.submit(trees_of, futures[0], pure=False)
            found = self._results([head], placement.workers)
            if found is None or found[0] is None:
                return None
            trees, n_sums, n_bytes = found[0]
            LOG.info("%d trees: %d sums, %d bytes sent", len(trees), n_sums, n_bytes)
            return self._finish(call, placement, futures, trees)
        except LOST:
            self.watch.check_connection()
            return None
        finally:
            self._end(placement.workers, futures)

    def _start_ranks(
        self, call: GrowCall, placement: Placement, ports: list[Port]
    ) -> list[Future]:
        task = TopTask(
            self.fit,
            secrets.token_bytes(TOKEN_BYTES),
            [port.address for port in ports],
            self.starts[:-1],
            call,
        )
        runs, targets, codes = [], [], []
        for worker, parts in zip(placement.workers, placement.parts[0], strict=True):
            lengths = np.diff(self.starts)[parts]
            check_own_rows(worker, int(lengths.sum()))
            own = np.concatenate([[0], np.cumsum(lengths)[:-1]])
            runs.append(np.stack([own, self.starts[parts], lengths], axis=1))
            targets.append(joined_targets([self._targets_of(part) for part in parts]))
            codes.append([self.codes[0][part] for part in parts])
        n_ranks = len(placement.workers)
        return self._start(top_rank, placement, [task] * n_ranks, runs, targets, codes)

    def _targets_of(self, part: int) -> Targets:
        first, last = self.starts[part : part + 2]
        return self.targets.take(slice(first, last))

    def _finish(
        self,
        call: GrowCall,
        placement: Placement,
        ranks: list[Future],
        trees: list[dict[str, Any]],
    ) -> list[dict[str, Any]] | None:
        """Let workers grow the nodes that are left, and join the trees."""
        if self.targets.labels is None:
            for top in trees:
                check_leaf(int(top["n_rows"][top["apart"]].max()))
        parts: dict[int, Future] = {}
        for rank, numbers in zip(ranks, placement.parts[0], strict=True):
            for i, number in enumerate(numbers):
                parts[number] = self.client.submit(part_of, rank, i, pure=False)
        shares = shared_out(trees, len(placement.workers))
        known = [
            dask.delayed(value, pure=False, traverse=False) for value in (call, trees)
        ]
        sources = self.codes[0] if self.values is None else self.values
        tasks = [
            dask.delayed(grow_wanted)(
                *known,
                wanted,
                [
                    dask.delayed(rows_apart)(
                        parts[i], source, wanted, are_codes=self.values is None
                    )
                    for i, source in enumerate(sources)
                ],
            )
            for wanted in shares
        ]
        grown = self._results(self.client.compute(tasks), placement.workers)
        if grown is None:
            return None
        apart: list[dict[int, dict[str, Any]]] = [{} for _ in trees]
        for wanted, result in zip(shares, grown, strict=True):
            for nodes, arrays in zip(wanted, result, strict=True):
                apart[nodes.tree].update(arrays)
        return [
            joined_tree(
                call,
                top,
                [of_tree[i] for i in range(len(of_tree))],
                weight_of_tree(call, top, self.targets),
            )
            for top, of_tree in zip(trees, apart, strict=True)
        ]


def shared_out(trees: list[dict[str, Any]], n_workers: int) -> list[list[Wanted]]:
    """Share out nodes that are grown apart, so that workers have about as many rows."""
    nodes = [
        (int(n_rows), tree, number)
        for tree, top in enumerate(trees)
        for number, n_rows in enumerate(top["n_rows"][top["apart"]])
    ]
    load = [(0, worker) for worker in range(n_workers)]
    owned: list[list[tuple[int, int]]] = [[] for _ in range(n_workers)]
    for n_rows, tree, number in sorted(nodes, reverse=True):
        rows, worker = heapq.heappop(load)
        owned[worker].append((tree, number))
        heapq.heappush(load, (rows + n_rows, worker))
    return [_wanted(trees, own) for own in owned if own]


def _wanted(trees: list[dict[str, Any]], own: list[tuple[int, int]]) -> list[Wanted]:
    wanted = []
    for tree in sorted({tree for tree, _ in own}):
        numbers = np.array(sorted(n for t, n in own if t == tree), dtype=np.int32)
        top = trees[tree]
        may_split = top["may_split"][numbers] != 0
        is_large = top["n_rows"][top["apart"][numbers]] > MAX_COUNT
        unit = wide_count(int(top["tree_rows"]))
        for splits, is_summed in ((True, False), (False, False), (False, True)):
            nodes = numbers[(may_split == splits) & (is_large == is_summed)]
            if len(nodes) > 0:
                wanted.append(Wanted(tree, nodes, splits, unit if is_summed else 0))
    return wanted
