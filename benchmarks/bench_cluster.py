"""Fits on a cluster of two workers, compared with local fits and other libraries.

The cluster is a LocalCluster of two workers with one thread each; local fits have two
threads. Each model is fitted once on few rows as a warm-up. Then it is fitted
`--repeats` times (other libraries `--other-repeats` times), local fits and fits on the
cluster in turns. The tables show medians. CPU seconds are those of the client and all
workers.

A model of larger clusters follows: the time of a round with 1 to 1,000 workers. It is
computed from the costs of computation and communication measured on this machine.
"""

from __future__ import annotations

import io
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from cluster_data import N_FEATURES, make_collections, make_whole
from cluster_model import Machine, measure_links, show_scaling
from common import make_parser, print_header, save_json
from distributed import Client, LocalCluster

import dics
import dics.dask
from dics_paper.text import markdown_table, show_seconds

N_ROUNDS = 100
MOST_CPU, MOST_WALL = 1.25, 0.7


class Cost(NamedTuple):
    """Seconds and accuracy of a fit."""

    wall: float
    cpu: float
    score: float


class Sums(logging.Handler):
    """Log handler that stores the number and the size of the sums of the last fit."""

    rounds, sums, sent = 1, 0, 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.args and len(record.args) == 3:
            self.rounds, self.sums, self.sent = record.args  # type: ignore[assignment]


def cpu_seconds(client: Client | None) -> float:
    here = sum(os.times()[:2])
    if client is None:
        return here
    return here + sum(sum(times[:2]) for times in client.run(os.times).values())


class Runs:
    """Repeated fits of one kind and their costs.

    Parameters
    ----------
    fit : callable
        Returns a model fitted to all rows.
    client : Client or None
        Client of the cluster that the fit uses, None for a local fit.
    """

    def __init__(self, fit: Callable[[], Any], client: Client | None) -> None:
        self._fit = fit
        self._client = client
        self._taken: list[tuple[float, float]] = []
        self.model: Any = None

    def run(self) -> None:
        cpu, begin = cpu_seconds(self._client), time.perf_counter()
        self.model = self._fit()
        wall = time.perf_counter() - begin
        self._taken.append((wall, cpu_seconds(self._client) - cpu))

    def cost(self, score: Callable[[Any], float] = lambda _: 0.0) -> Cost:
        """Return the medians, and the score of the model."""
        wall, cpu = np.median(self._taken, axis=0)
        return Cost(float(wall), float(cpu), score(self.model))


def take_turns(runs: Sequence[Runs], n_repeats: int) -> None:
    for _ in range(n_repeats):
        for each in runs:
            each.run()


@contextmanager
def two_workers() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        yield client


def other_libraries() -> dict[str, Callable[[], Any]]:
    from lightgbm import DaskLGBMClassifier
    from xgboost.dask import DaskXGBClassifier

    return {
        "LightGBM": lambda: DaskLGBMClassifier(n_estimators=N_ROUNDS, verbose=-1),
        "XGBoost": lambda: DaskXGBClassifier(n_estimators=N_ROUNDS),
    }


class Rows(NamedTuple):
    """The same rows as arrays and as Dask collections."""

    X: Any
    y: Any
    dX: Any
    dy: Any

    @classmethod
    def make(cls, n_rows: int, n_classes: int) -> Rows:
        return cls(*make_whole(n_rows, n_classes), *make_collections(n_rows, n_classes))


def score_on(held: Any, truth: Any) -> Callable[[Any], float]:
    """Return a function that computes the accuracy of a model."""

    def score(model: Any) -> float:
        if hasattr(model, "get_booster"):  # XGBoost, which predicts only collections
            predicted = model.get_booster().inplace_predict(held)
            found = predicted > 0.5 if predicted.ndim == 1 else predicted.argmax(axis=1)
            return float((found == truth).mean())
        local = model.to_local() if hasattr(model, "to_local") else model
        return float((np.asarray(local.predict(held)) == truth).mean())

    return score


def compare_boosting(
    client: Client, n_rows: int, n_classes: int, n_repeats: int, n_other_repeats: int
) -> dict[str, Any]:
    rows = Rows.make(n_rows, n_classes)
    few = Rows.make(1, n_classes)  # one block, for the warm-up
    score = score_on(*make_whole(100_000, n_classes))
    options = {"n_estimators": N_ROUNDS, "random_state": 0, "n_jobs": 2}

    def here(given: Rows = rows) -> Any:
        return dics.CGBoostingClassifier(**options).fit(given.X, given.y)

    def there(given: Rows = rows) -> Any:
        return dics.dask.DaskCGBoostingClassifier(**options).fit(given.dX, given.dy)

    here(few), there(few)
    ours, cluster = Runs(here, None), Runs(there, client)
    sums = Sums()
    log = logging.getLogger("dics.dask")
    log.setLevel(logging.INFO)
    log.addHandler(sums)
    take_turns([ours, cluster], n_repeats)
    log.removeHandler(sums)
    row: dict[str, Any] = {
        "classes": n_classes,
        "local": ours.cost(score),
        "cluster": cluster.cost(score),
        "bit-identical": same_bytes(ours, cluster),
        "sums per round": sums.sums / max(1, sums.rounds),
        "bytes per round": sums.sent / max(1, sums.rounds),
    }
    for name, make in other_libraries().items() if n_other_repeats else ():
        make().fit(few.dX, few.dy)
        runs = Runs(lambda make=make: make().fit(rows.dX, rows.dy), client)
        take_turns([runs], n_other_repeats)
        row[name] = runs.cost(score)
    return row


def same_bytes(here: Runs, cluster: Runs) -> bool:
    """Return True if the two model files are bit-identical."""
    ours, theirs = io.BytesIO(), io.BytesIO()
    here.model.save(ours)
    cluster.model.save(theirs)
    return ours.getvalue() == theirs.getvalue()


def compare_trees(client: Client, n_rows: int, n_repeats: int) -> list[dict[str, Any]]:
    """Compare local fits of a forest and a tree with fits on the cluster."""
    given = Rows.make(n_rows, 2)
    return [
        compare_fits(client, name, options, given, n_repeats)
        for name, options in (
            ("CGForestClassifier", {"n_estimators": 20, "max_depth": 12}),
            ("CGTreeClassifier", {}),
        )
    ]


def compare_fits(
    client: Client, name: str, options: dict[str, Any], given: Rows, n_repeats: int
) -> dict[str, Any]:
    own, mine = getattr(dics, name), getattr(dics.dask, f"Dask{name}")
    options = {"random_state": 0, "n_jobs": 2, **options}

    def here() -> Any:
        return own(**options).fit(given.X, given.y)

    def there() -> Any:
        return mine(**options).fit(given.dX, given.dy)

    ours, cluster = Runs(here, None), Runs(there, client)
    take_turns([ours, cluster], n_repeats)
    return {
        "model": name,
        "local": ours.cost(),
        "cluster": cluster.cost(),
        "bit-identical": same_bytes(ours, cluster),
    }


def show_boosting(rows: Sequence[dict[str, Any]]) -> None:
    table = []
    for row in rows:
        for name in ("local", "cluster", "LightGBM", "XGBoost"):
            if name not in row:
                continue
            cost: Cost = row[name]
            table.append(
                [
                    row["classes"],
                    f"dics, {name}" if name in ("local", "cluster") else name,
                    show_seconds(cost.wall),
                    show_seconds(cost.cpu),
                    f"{cost.score:.4f}",
                ]
            )
    print(markdown_table(["classes", "fit", "wall", "CPU", "accuracy"], table))
    for row in rows:
        ours, cluster = row["local"], row["cluster"]
        print(
            f"\n{row['classes']} classes: bit-identical {row['bit-identical']}, "
            f"{row['sums per round']:.1f} sums and "
            f"{row['bytes per round'] / 1e3:.0f} kB per round; "
            f"CPU time {cluster.cpu / ours.cpu:.2f}x that of the local fit "
            f"(at most {MOST_CPU}x)"
        )
        walls = [row[name].wall for name in ("LightGBM", "XGBoost") if name in row]
        if walls:
            ratio = cluster.wall / min(walls)
            print(
                f"  wall time {ratio:.2f}x that of the fastest (at most {MOST_WALL}x)"
            )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument(
        "--other-repeats", type=int, default=3, metavar="N", help="0: only dics"
    )
    args = parser.parse_args(argv)
    print_header("Cluster")
    with two_workers() as client:
        boosting = [
            compare_boosting(client, args.rows, k, args.repeats, args.other_repeats)
            for k in args.classes
        ]
        show_boosting(boosting)
        trees = compare_trees(client, args.rows, args.repeats)
    print()
    print(
        markdown_table(
            [
                "model",
                "local",
                "cluster",
                "CPU local",
                "CPU cluster",
                "bit-identical",
            ],
            [
                [
                    row["model"],
                    show_seconds(row["local"].wall),
                    show_seconds(row["cluster"].wall),
                    show_seconds(row["local"].cpu),
                    show_seconds(row["cluster"].cpu),
                    str(row["bit-identical"]),
                ]
                for row in trees
            ],
        )
    )
    links = measure_links()
    for row in boosting:
        machine = Machine(
            row_seconds=row["local"].cpu / N_ROUNDS / args.rows,
            sums=row["sums per round"],
            bytes=2 * row["bytes per round"],  # the first worker sends half of them
            links=links,
        )
        show_scaling(machine, row["classes"], N_FEATURES)
    save_json(args.json, "cluster", boosting=boosting, trees=trees)


if __name__ == "__main__":
    main()
