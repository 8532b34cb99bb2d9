"""Fits on a cluster of two workers, beside fits here and the peers' Dask estimators.

A LocalCluster of two workers with one thread each; ours here has two threads. CPU
seconds are those of the client and all workers. Then a model of larger clusters: the
time of a round with 1 to 1,000 workers, from what computing and sending take on this
machine, as measured just before.
"""

from __future__ import annotations

import logging
import os
import pickle
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
    """What a fit takes."""

    wall: float
    cpu: float
    score: float


class Sums(logging.Handler):
    """Keeps what the last fit on the cluster said of its sums."""

    rounds, sums, sent = 1, 0, 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.args and len(record.args) == 3:
            self.rounds, self.sums, self.sent = record.args  # type: ignore[assignment]


def cpu_seconds(client: Client | None) -> float:
    here = sum(os.times()[:2])
    if client is None:
        return here
    return here + sum(sum(times[:2]) for times in client.run(os.times).values())


def measured(fit: Callable[[], Any], score: Callable[[Any], float], client: Any) -> Any:
    """Return a fitted model and what the fit took."""
    cpu, begin = cpu_seconds(client), time.perf_counter()
    model = fit()
    wall = time.perf_counter() - begin
    return model, Cost(wall, cpu_seconds(client) - cpu, score(model))


@contextmanager
def two_workers() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as own,
        Client(own) as client,
    ):
        yield client


def peers() -> dict[str, Callable[[], Any]]:
    from lightgbm import DaskLGBMClassifier
    from xgboost.dask import DaskXGBClassifier

    return {
        "LightGBM": lambda: DaskLGBMClassifier(n_estimators=N_ROUNDS, verbose=-1),
        "XGBoost": lambda: DaskXGBClassifier(n_estimators=N_ROUNDS),
    }


def compare_boosting(
    client: Client, n_rows: int, n_classes: int, with_peers: bool
) -> dict[str, Any]:
    X, y = make_whole(n_rows, n_classes)
    held, truth = make_whole(100_000, n_classes)
    dX, dy = make_collections(n_rows, n_classes)

    def score(model: Any) -> float:
        if hasattr(model, "get_booster"):  # XGBoost's, which predicts collections only
            said = model.get_booster().inplace_predict(held)
            found = said > 0.5 if said.ndim == 1 else said.argmax(axis=1)
            return float((found == truth).mean())
        local = model.to_local() if hasattr(model, "to_local") else model
        return float((np.asarray(local.predict(held)) == truth).mean())

    options = {"n_estimators": N_ROUNDS, "random_state": 0}
    here, ours = measured(
        lambda: dics.FastCGBMClassifier(n_jobs=2, **options).fit(X, y), score, None
    )
    sums = Sums()
    log = logging.getLogger("dics.dask")
    log.setLevel(logging.INFO)
    log.addHandler(sums)
    there, cluster = measured(
        lambda: dics.dask.DaskFastCGBMClassifier(n_jobs=2, **options).fit(dX, dy),
        score,
        client,
    )
    log.removeHandler(sums)
    row: dict[str, Any] = {
        "classes": n_classes,
        "here": ours,
        "cluster": cluster,
        "same bytes": pickle.dumps(here) == pickle.dumps(there.to_local()),
        "sums a round": sums.sums / max(1, sums.rounds),
        "bytes a round": sums.sent / max(1, sums.rounds),
    }
    for name, make in peers().items() if with_peers else ():
        _, row[name] = measured(lambda make=make: make().fit(dX, dy), score, client)
    return row


def compare_trees(client: Client, n_rows: int) -> list[dict[str, Any]]:
    """Forest and tree, here and on the cluster."""
    X, y = make_whole(n_rows, 2)
    dX, dy = make_collections(n_rows, 2)
    rows = []
    for name, options in (
        ("CGForestClassifier", {"n_estimators": 20, "max_depth": 12}),
        ("CGTreeClassifier", {}),
    ):
        own, mine = getattr(dics, name), getattr(dics.dask, f"Dask{name}")
        here, ours = measured(
            lambda own=own, options=options: own(
                random_state=0, n_jobs=2, **options
            ).fit(X, y),
            lambda _: 0.0,
            None,
        )
        for layout in ("whole", "rows"):
            there, cluster = measured(
                lambda mine=mine, options=options, layout=layout: mine(
                    random_state=0, n_jobs=2, layout=layout, **options
                ).fit(dX, dy),
                lambda _: 0.0,
                client,
            )
            same = pickle.dumps(here) == pickle.dumps(there.to_local())
            rows.append(
                {
                    "model": name,
                    "layout": layout,
                    "here": ours,
                    "cluster": cluster,
                    "same bytes": same,
                }
            )
    return rows


def show_boosting(rows: Sequence[dict[str, Any]]) -> None:
    table = []
    for row in rows:
        for name in ("here", "cluster", "LightGBM", "XGBoost"):
            if name not in row:
                continue
            cost: Cost = row[name]
            table.append(
                [
                    row["classes"],
                    f"ours, {name}" if name in ("here", "cluster") else name,
                    show_seconds(cost.wall),
                    show_seconds(cost.cpu),
                    f"{cost.score:.4f}",
                ]
            )
    print(markdown_table(["classes", "fit", "wall", "CPU", "accuracy"], table))
    for row in rows:
        ours, cluster = row["here"], row["cluster"]
        print(
            f"\n{row['classes']} classes: same bytes {row['same bytes']}, "
            f"{row['sums a round']:.1f} sums and {row['bytes a round'] / 1e3:.0f} kB a "
            f"round; CPU {cluster.cpu / ours.cpu:.2f}x of the fit here "
            f"(at most {MOST_CPU}x)"
        )
        walls = [row[name].wall for name in ("LightGBM", "XGBoost") if name in row]
        if walls:
            ratio = cluster.wall / min(walls)
            print(f"  wall {ratio:.2f}x of the faster peer's (at most {MOST_WALL}x)")


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--without-peers", action="store_true")
    args = parser.parse_args(argv)
    print_header("Cluster")
    with two_workers() as client:
        boosting = [
            compare_boosting(client, args.rows, k, not args.without_peers)
            for k in args.classes
        ]
        show_boosting(boosting)
        trees = compare_trees(client, args.rows // 5)
    print()
    print(
        markdown_table(
            [
                "model",
                "layout",
                "here",
                "cluster",
                "CPU here",
                "CPU cluster",
                "same bytes",
            ],
            [
                [
                    row["model"],
                    row["layout"],
                    show_seconds(row["here"].wall),
                    show_seconds(row["cluster"].wall),
                    show_seconds(row["here"].cpu),
                    show_seconds(row["cluster"].cpu),
                    str(row["same bytes"]),
                ]
                for row in trees
            ],
        )
    )
    links = measure_links()
    for row in boosting:
        machine = Machine(
            row_seconds=row["here"].cpu / N_ROUNDS / args.rows,
            sums=row["sums a round"],
            bytes=2 * row["bytes a round"],  # of which the first worker sends half
            links=links,
        )
        show_scaling(machine, row["classes"], N_FEATURES)
    save_json(args.json, {"boosting": boosting, "trees": trees})


if __name__ == "__main__":
    main()
