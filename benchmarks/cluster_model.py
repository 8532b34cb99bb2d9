"""A cost model of larger clusters: the time of a boosting round with many workers.

A worker computes the histograms of its rows. It sends each other worker a slice of the
histograms, and then the best splits of its own slice. The times of a row and of a
message are measured.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dics.dask._links import TOKEN_BYTES, Address, Links, listen
from dics_paper.text import markdown_table

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000)
ROWS = (1_000_000, 100_000_000, 1_000_000_000)
CORES = 16  # per worker
WIRE = 10e9 / 8  # bytes per second between machines: 10 Gbit/s


class LinkCost(NamedTuple):
    """Seconds per message between two processes, and per byte."""

    message: float
    byte: float


class Machine(NamedTuple):
    """Costs of a round on this machine."""

    row_seconds: float  # per row, with one core
    sums: float  # with two workers: half for histograms, half for the best splits
    bytes: float  # size of all histograms
    links: LinkCost


def measure_links(repeats: int = 200) -> LinkCost:
    """Time small and large sums between two threads that use sockets."""
    small, large = _seconds_of_sum(8, repeats), _seconds_of_sum(1 << 20, repeats // 4)
    return LinkCost(small / 2, max(0.0, (large - small) / 2 / (1 << 20)))


def _seconds_of_sum(n_bytes: int, repeats: int) -> float:
    listeners = [listen("127.0.0.1") for _ in range(2)]
    addresses = [Address(*each.getsockname()[:2]) for each in listeners]
    token = secrets.token_bytes(TOKEN_BYTES)
    none = np.empty((0, 3), dtype=np.int64)
    links = [
        Links(rank, addresses, listeners[rank], token, none, none[:, 0])
        for rank in range(2)
    ]
    values = [np.zeros(max(1, n_bytes // 4), dtype=np.int32) for _ in links]

    def take_part(rank: int) -> None:
        links[rank].open()
        for _ in range(repeats):
            links[rank].allreduce(values[rank])

    other = threading.Thread(target=take_part, args=(1,))
    other.start()
    links[0].open()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        links[0].allreduce(values[0])
        times.append(time.perf_counter() - begin)
    other.join()
    for link in links:
        link.close()
    return float(np.median(times))


def round_seconds(machine: Machine, n_rows: int, n_workers: int) -> tuple[float, float]:
    """Return the seconds of a round for computation and for sums."""
    compute = machine.row_seconds * n_rows / (n_workers * CORES)
    if n_workers == 1:
        return compute, 0.0
    per_byte = machine.links.byte + 1 / WIRE
    # A worker exchanges data with one other worker at a time; one of the two sends
    # first.
    others = n_workers - 1
    sent = machine.bytes * others / n_workers
    return compute, (
        machine.sums * 2 * others * machine.links.message + 2 * sent * per_byte
    )


def show_scaling(machine: Machine, n_classes: int, n_features: int) -> None:
    """Print the time of a round by number of workers, and the best number."""
    print(
        f"\nModel of a round: {n_classes} classes, {n_features} features, workers with "
        f"{CORES} cores, 10 Gbit/s, {machine.row_seconds * 1e9:.0f} ns per row and "
        f"core, {machine.links.message * 1e6:.0f} us per message, "
        f"{machine.sums:.0f} sums with {machine.bytes / 1e3:.0f} kB in total:\n"
    )
    table = []
    for n_workers in WORKERS:
        cells: list[str] = [f"{n_workers}"]
        for n_rows in ROWS:
            compute, sums = round_seconds(machine, n_rows, n_workers)
            cells.append(f"{1e3 * compute:.1f} + {1e3 * sums:.1f}")
        table.append(cells)
    header = ["workers", *(f"{n:,} rows, ms" for n in ROWS)]
    print(markdown_table(header, table))
    knees = [f"{_knee(machine, n)} for {n:,}" for n in ROWS]
    print(f"\nNumber of workers with the shortest round: {', '.join(knees)} rows.")


def _knee(machine: Machine, n_rows: int, workers: Sequence[int] = WORKERS) -> int:
    return min(workers, key=lambda w: sum(round_seconds(machine, n_rows, w)))
