"""Random fits for a cluster, and local clusters."""

import asyncio
import contextlib
import logging
import os
import warnings
from typing import NamedTuple

import dask
import dask.array as da
import numpy as np
import pandas as pd
import scipy.sparse
from checks import file_bytes
from dask.tokenize import tokenize
from distributed import Client, LocalCluster, Scheduler, Worker
from distributed.utils import get_mp_context
from selection import offset, slow

import dics
import dics.dask

LOG_LINK = ("poisson", "gamma", "tweedie")
LOSSES = ("squared_error", "absolute_error", "huber", "quantile", *LOG_LINK)


@contextlib.contextmanager
def quick_processes():
    """Start workers as forks of a process with all imports."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # That process reads it; Dask sets it only for workers that it spawns.
    os.environ["MALLOC_TRIM_THRESHOLD_"] = "65536"
    settings = {"daemon": True, "multiprocessing-method": "forkserver"}
    with dask.config.set({f"distributed.worker.{k}": v for k, v in settings.items()}):
        context = get_mp_context()  # sets the imports of Dask
        context.set_forkserver_preload(["dics.dask"])
        yield context


@contextlib.contextmanager
def cluster_of(n_workers, *, processes=False, **options):
    """Start a cluster on this machine without log messages, and close it at the end."""
    with (
        quick_processes(),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=processes,
            dashboard_address=":0",
            **options,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
        # Tasks open clients of their worker. Dask closes them after the last worker of
        # this process only, and the shared cluster of the tests is there until the end.
        for worker in cluster.workers.values():
            own = getattr(worker, "_client", None)
            if own is not None:
                own.close()


class Process(NamedTuple):
    """A process of a cluster, and its address."""

    pid: int
    address: str


@contextlib.contextmanager
def separate_processes(n_workers):
    """Start a client, a scheduler and workers in processes that do not restart."""
    with quick_processes() as context, contextlib.ExitStack() as started:

        def start(make, *args):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, make, *args))
            process.start()
            started.callback(process.join)
            started.callback(process.kill)
            return Process(process.pid, here.recv())

        scheduler = start(_scheduler)
        workers = [start(_worker, scheduler.address) for _ in range(n_workers)]
        with Client(scheduler.address) as client:
            yield client, scheduler, workers


def _serve(pipe, make, *args):
    async def run():
        async with make(*args) as server:
            pipe.send(server.address)
            await server.finished()

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    asyncio.run(run())


def _scheduler():
    return Scheduler(host="127.0.0.1", port=0, dashboard=False)


def _worker(address):
    return Worker(address, nthreads=1, dashboard=False)


def random_chunks(n, n_parts, rng):
    """Return chunk lengths of n rows; some may be zero."""
    cuts = np.sort(rng.integers(0, n + 1, n_parts - 1))
    return tuple(int(v) for v in np.diff(np.concatenate([[0], cuts, [n]])))


def as_dask(values, chunks):
    if scipy.sparse.issparse(values):
        return sparse_array_of(values, chunks)
    if not isinstance(values, pd.DataFrame):
        return da.from_array(values, chunks=(chunks, *values.shape[1:]))
    ends = np.cumsum(chunks)
    return frame_of([values[a:b] for a, b in zip(ends - chunks, ends, strict=True)])


def sparse_array_of(values, chunks):
    """Return a Dask array of sparse chunks; some may be empty."""
    ends = np.cumsum(chunks)
    name = f"sparse-{tokenize(values, chunks)}"
    graph = {
        (name, i, 0): values[end - n : end]
        for i, (n, end) in enumerate(zip(chunks, ends, strict=True))
    }
    columns = (values.shape[1],)
    return da.Array(graph, name, (tuple(chunks), columns), meta=values[:0])


def frame_of(parts):
    """Return a Dask data frame; its partitions have different categories."""
    import dask.dataframe as dd  # not on workers with little memory

    own = [
        part.assign(
            **{
                name: part[name].cat.remove_unused_categories()
                for name in part.columns[part.dtypes == "category"]
            }
        )
        for part in parts
    ]
    meta = dd.utils.clear_known_categories(parts[0][:0])
    return dd.from_delayed([dask.delayed(part) for part in own], meta=meta)


class Case:
    """A random estimator and its rows, determined by the seed."""

    def __init__(self, seed, most_rows=600):
        self.rng = rng = np.random.default_rng(seed)
        self.seed = seed
        n, p = int(rng.integers(2, most_rows)), int(rng.integers(1, 12))
        self.X = self._make_rows(n, p)
        first = np.nan_to_num(self.X[:, 0].astype(np.float64), posinf=9, neginf=-9)
        score = first + rng.normal(size=n) * 0.3
        family = rng.choice(
            ["CGBoosting", "CGBoosting", "CGBoosting", "CGForest", "CGTree"]
        )
        kind = rng.choice(["Classifier", "Regressor"])
        self.name = family + kind
        self.parameters = {"random_state": int(seed)}
        self.y = score
        if kind == "Classifier":
            n_classes = int(rng.integers(2, 21))
            self.y = np.argsort(np.argsort(score)) * n_classes // n
            if rng.random() < 0.2:  # partitions without some class
                self.y = np.sort(self.y)
        self.weights = self._make_weights(n)
        self.validation = {}
        self.offset = None
        if family == "CGBoosting":
            self._choose_boosting(kind)
        elif family == "CGForest":
            self.parameters["n_estimators"] = int(rng.integers(1, 7))
        if family != "CGBoosting":
            self._choose_trees(family, kind, np.random.default_rng([seed, 1]))

    def _make_rows(self, n, p):
        rng = self.rng
        X = rng.normal(size=(n, p)).astype(rng.choice(["f4", "f8"]))
        choice = rng.random()
        if choice < 0.15:
            return (X * 20 + 100).clip(0, 255).astype("u1")
        if choice < 0.4:
            X[rng.random(X.shape) < 0.2] = np.nan
        elif choice < 0.5:
            X[rng.random(X.shape) < 0.9] = 0  # mostly zeros
        elif choice < 0.55 and X.dtype == "f8":
            X[:, 0] = 1.7e9 + np.arange(n)  # single precision would merge them
        return X

    def _make_weights(self, n):
        rng = self.rng
        choice = rng.random()
        if choice < 0.6:
            return None
        weights = rng.integers(0, 3, n) + (choice < 0.8) * rng.random(n)
        return weights if weights.sum() > 0 else None

    def _choose_boosting(self, kind):
        rng, own = self.rng, self.parameters
        own["n_estimators"] = int(rng.integers(1, 10))
        own["sampling"] = [None, "auto", "goss", "mvs"][rng.integers(4)]
        own["max_leaf_nodes"] = int(rng.integers(2, 40))
        if rng.random() < 0.2:
            own["advanced__leaf_values"] = "sample"
        if rng.random() < 0.2:
            own["max_features"] = 0.5
        if kind == "Classifier":
            own["early_stopping"] = bool(rng.random() < 0.3)
            if rng.random() < 0.1:
                own["sampling"] = "goss"
                own["advanced__reuse_splits"] = False
                own["advanced__max_candidates"] = 20
        else:
            own["loss"] = LOSSES[rng.integers(len(LOSSES))]
            if own["loss"] in LOG_LINK:
                self.y = np.abs(self.y) + 0.1
        if rng.random() < 0.3:
            rows = rng.integers(0, len(self.y), int(rng.integers(1, 200)))
            self.validation = {"X_val": self.X[rows], "y_val": self.y[rows]}
        if rng.random() < 0.15:
            scoring = "accuracy" if kind == "Classifier" else "r2"
            own.update(early_stopping=len(self.validation) > 0, scoring=scoring)
        if rng.random() < 0.3:
            n_scores = len(np.unique(self.y)) if kind == "Classifier" else 1
            shape = (len(self.y), n_scores) if n_scores > 2 else len(self.y)
            self.offset = rng.normal(size=shape)
            if self.validation:
                self.validation["offset_val"] = self.offset[rows]

    def _choose_trees(self, family, kind, rng):
        own = self.parameters
        own["max_features"] = [None, "sqrt", 0.5][rng.integers(3)]
        own["min_samples_leaf"] = int(rng.choice([1, 1, 4]))
        if kind == "Classifier":
            own["criterion"] = str(rng.choice(["gini", "entropy"]))
        if rng.random() < 0.3:
            own["max_depth"] = int(rng.integers(1, 6))
        if rng.random() < 0.2:
            own["ccp_alpha"] = 0.001
        if family == "CGForest":
            own["bootstrap"] = bool(rng.random() < 0.7)
            own["advanced__feature_sampling"] = str(rng.choice(["node", "tree"]))
            if kind == "Classifier" and rng.random() < 0.3:
                own["class_weight"] = "balanced_subsample"
            own["oob_score"] = own["bootstrap"] and bool(rng.random() < 0.5)
            if own["bootstrap"] and rng.random() < 0.6:
                own["max_samples"] = [0.05, 0.3, 7][rng.integers(3)]

    def fit_here(self):
        model = getattr(dics, self.name)().set_params(**self.parameters)
        return model.fit(
            self.X, self.y, self.weights, **self._more(), **self.validation
        )

    def _more(self):
        """Return the offset, which only boosting has."""
        return {} if self.offset is None else {"offset": self.offset}

    def fit_on_cluster(self):
        rng = self.rng
        chunks = random_chunks(self.X.shape[0], int(rng.integers(1, 8)), rng)
        weights = None if self.weights is None else as_dask(self.weights, chunks)
        held = random_chunks(len(self.validation.get("y_val", ())), 3, rng)
        model = getattr(dics.dask, f"Dask{self.name}")()
        model.set_params(**self.parameters)
        return model.fit(
            as_dask(self.X, chunks),
            as_dask(self.y, chunks),
            weights,
            **{name: as_dask(rows, chunks) for name, rows in self._more().items()},
            **{name: as_dask(rows, held) for name, rows in self.validation.items()},
        )

    def __repr__(self):
        return f"Case({self.seed}): {self.name} {self.parameters} {self.X.shape}"


class CategoryCase(Case):
    """The same with informative categorical features."""

    def __init__(self, seed, most_rows=600):
        super().__init__(seed, most_rows)
        rng = np.random.default_rng([seed, 2])
        self.kind = str(rng.choice(["frame", "frame", "objects", "named"]))
        self.n_categories = [int(rng.choice([1, 2, 5, 30, 90])) for _ in range(3)]
        categories = self._make_categories(rng)
        if self.kind == "named":
            self.X = self._with_named(categories, int(rng.integers(1, 4)))
        else:
            self.X = self._with_text(categories)
        self._choose_constraints(rng)
        self.validation = {}
        if "Boosting" in self.name and rng.random() < 0.4:
            rows = rng.integers(0, len(self.X), int(rng.integers(1, 200)))
            held = self._with_new_categories(rows)
            self.validation = {"X_val": held, "y_val": self.y[rows]}

    def _make_categories(self, rng):
        """Make three columns; the last two are a pair. -1 is a missing value."""
        n = len(self.X)
        group = np.argsort(np.argsort(self.y, kind="stable"), kind="stable") * 4 // n
        first, second, third = self.n_categories
        a = (group + rng.integers(0, 2, n)) % first
        b = rng.integers(0, second, n)
        c = (b + group * (third // 4 + 1)) % third
        categories = np.stack([a, b, c], axis=1)
        categories[rng.random(categories.shape) < rng.choice([0, 0.1])] = -1
        if rng.random() < 0.3:
            order = np.argsort(a, kind="stable")  # partitions without some categories
            self.X, self.y, categories = self.X[order], self.y[order], categories[order]
        return categories

    def _with_named(self, categories, n_numbers):
        """Return numbers, some of which are declared as categories."""
        numbers = self.X[:, :n_numbers]
        X = np.hstack([numbers, np.maximum(categories, 0)])  # a byte has no -1
        self.parameters["categorical_features"] = [*range(X.shape[1])][-3:]
        return X.astype(numbers.dtype)

    def _with_text(self, categories):
        frame = pd.DataFrame(self.X).add_prefix("x")
        words = [f"w{i}" for i in range(max(self.n_categories))]
        text = np.array([*words, None], dtype=object)[categories]
        frame["text"] = text[:, 0]
        frame["category"] = pd.Categorical(text[:, 1])
        frame.insert(0, "words", text[:, 2])
        return frame if self.kind == "frame" else frame.to_numpy(dtype=object)

    def _choose_constraints(self, rng):
        own = self.parameters
        if "Boosting" in self.name:
            own["categorical__pairs"] = bool(rng.random() < 0.8)
            if rng.random() < 0.1:
                own["interaction_cst"] = "pairwise"
        if self.kind != "objects" and rng.random() < 0.1:
            first = 0 if self.kind == "named" else 1
            own["monotonic_cst"] = [int(f == first) for f in range(self.X.shape[1])]
        if rng.random() < 0.2:
            own["categorical__smooth"] = 0.0

    def _with_new_categories(self, rows):
        if self.kind != "frame":
            return self.X[rows]
        given = self.X.iloc[rows].reset_index(drop=True)
        given.loc[::3, "words"] = "new"
        return given


class SparseCase(Case):
    """The same with sparse rows, of any density."""

    def _make_rows(self, n, p):
        rng = np.random.default_rng([self.seed, 3])
        p = int(rng.choice([p, 40, 200]))
        rate = rng.choice([0.005, 0.02, 0.2, 0.7])
        X = rng.normal(size=(n, p)) * (rng.random((n, p)) < rate)
        X[:, rng.random(p) < 0.1] = 0
        if rng.random() < 0.3:  # single precision would merge these
            X[:, 0] = (1.7e9 + rng.integers(0, 500, n)) * (rng.random(n) < 0.6)
        elif rng.random() < 0.3:
            X = np.abs(X * 50).astype("u1")
        elif rng.random() < 0.6:
            X = X.astype("f4")
        self.is_dense = bool(rng.random() < 0.1)  # the expected model has a dense X
        self.is_array = bool(rng.random() < 0.5)
        return X

    def __init__(self, seed, most_rows=600):
        super().__init__(seed, most_rows)
        kind = scipy.sparse.csr_array if self.is_array else scipy.sparse.csr_matrix
        self.sparse_X = _with_zeros(kind(self.X), np.random.default_rng([seed, 4]))
        if not self.is_dense:
            self.X = self.sparse_X
        if self.validation:
            self.validation["X_val"] = kind(self.validation["X_val"])

    def fit_on_cluster(self):
        self.X = self.sparse_X
        return super().fit_on_cluster()


def _with_zeros(matrix, rng):
    """Return the same matrix with a few stored zeros."""
    n = int(rng.integers(0, 4))
    stored = matrix.tocoo()
    row = np.concatenate([stored.row, rng.integers(0, matrix.shape[0], n)])
    column = np.concatenate([stored.col, rng.integers(0, matrix.shape[1], n)])
    values = np.concatenate([stored.data, np.zeros(n, dtype=matrix.dtype)])
    return type(matrix)((values, (row, column)), shape=matrix.shape)


def outcome(fit):
    """Return the model file of a fit, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fit()
        except ValueError as error:
            return str(error)
    return file_bytes(model)


def differing(seeds, kind=Case):
    """Return the cases with another model on the cluster than on one machine."""
    return [
        repr(case)
        for case in map(kind, seeds)
        if outcome(case.fit_here) != outcome(case.fit_on_cluster)
    ]


def random_cases(quick, n_workers, n_cases):
    """Return numbers of workers and seeds, for `parametrize`; `quick` are not slow."""
    first = [n * 1000 + offset for n in n_workers]
    many = [range(seed, seed + n_cases) for seed in first]
    few = [(n, range(n * 1000, n * 1000 + 8)) for n in quick]
    return [*few, *slow(*zip(n_workers, many, strict=True))]
