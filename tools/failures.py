"""Inject failures of memory and threads: a call must succeed or raise MemoryError.

Every estimator fits and predicts while the library of failures.cpp lets one allocation
of the core fail, or that and all later ones, or all new threads. Each batch runs in its
own process, so that a crash or a hang is caught. The seed of each batch is printed:

    python tools/failures.py --seconds 60 --first 0
    python tools/failures.py --only 17          # one batch
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

SOURCE = pathlib.Path(__file__).with_suffix(".cpp")
TIMEOUT = 120  # seconds per batch
SHIM = "DICS_FAILURES_SHIM"


def build(folder: pathlib.Path) -> pathlib.Path:
    """Compile the library that is preloaded."""
    shim = folder / "failures.so"
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", str(SOURCE), "-o"]
    subprocess.run([*command, str(shim), "-ldl"], check=True)
    return shim


# --- in the process of a batch
# ---------------------------------------------------------


def models(seed: int) -> Iterator[tuple[Any, Any, Any]]:
    """Yield all estimators, with rows and targets."""
    import dics

    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(50, 3000)), int(rng.integers(2, 40))
    X = rng.normal(size=(n, p)).astype(rng.choice(["f4", "f8"]))
    X[rng.random(X.shape) < 0.05] = np.nan
    numbers = np.nan_to_num(X[:, 0]) + rng.normal(size=n)
    classes = np.digitize(numbers, [-1, 0, 1])
    common = {"random_state": seed, "n_jobs": int(rng.integers(1, 5))}
    limit = [None, 20][rng.integers(2)]
    for kind, y in (("Classifier", classes), ("Regressor", numbers)):
        tree = {"max_leaf_nodes": limit, **common}
        tree["max_features"] = [None, "sqrt"][rng.integers(2)]
        yield getattr(dics, f"CGTree{kind}")(**tree), X, y
        forest = {"n_estimators": 4, "max_leaf_nodes": limit, **common}
        yield getattr(dics, f"CGForest{kind}")(**forest), X, y
        rounds = {"n_estimators": 6, "early_stopping": bool(rng.integers(2)), **common}
        yield getattr(dics, f"CGBoosting{kind}")(**rounds), X, y


def fingerprint(answer: Any) -> str:
    """Return a digest of a model or an array."""
    trees = getattr(answer, "trees_", None)
    arrays = [answer] if trees is None else [trees.nodes, trees.leaf_values]
    data = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
    return hashlib.sha256(data).hexdigest()


def calls(model: Any, X: Any, y: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "fit", lambda: model.fit(X, y)
    for name in ("predict", "predict_proba", "predict_contributions", "apply"):
        if hasattr(model, name):
            yield name, lambda name=name: getattr(model, name)(X)


def run_batch(seed: int, n_failures: int) -> tuple[int, int]:
    """Let allocations and threads fail in every call.

    Returns the number of calls, and the number of those that raised MemoryError.
    """
    from dics import _core

    shim = ctypes.CDLL(os.environ[SHIM])
    shim.failures_set.restype = ctypes.c_long
    shim.failures_set.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_int]
    library = os.fsencode(_core.__file__)
    if not shim.failures_watch(library):
        raise RuntimeError(f"{library!r} is not loaded.")
    rng = np.random.default_rng(seed)
    n_calls = n_errors = 0
    for model, X, y in models(seed):
        for name, call in calls(model, X, y):
            where = f"{type(model).__name__}.{name}"
            shim.failures_set(-1, 0, 0)
            expected = fingerprint(call())
            total = shim.failures_set(-1, 0, 0)
            chosen = rng.integers(0, max(total, 1), size=n_failures) if total else []
            plans = [(int(first), int(rng.integers(2)), 0) for first in chosen]
            for plan in [*plans, (-1, 0, 1)]:
                print(where, *plan, flush=True)
                shim.failures_set(*plan)
                try:
                    found = call()
                except MemoryError:
                    found = None
                    n_errors += 1
                finally:
                    shim.failures_set(-1, 0, 0)
                n_calls += 1
                if found is not None and fingerprint(found) != expected:
                    raise AssertionError(f"The result of {where} differs after {plan}.")
                if plan[2] and found is None:
                    raise AssertionError(f"{where} must work without new threads.")
    return n_calls, n_errors


# --- many batches ---------------------------------------------------------------------


def start_batch(seed: int, n_failures: int, shim: pathlib.Path) -> tuple[int, int]:
    """Run a batch in a process with the preloaded library."""
    env = {**os.environ, "LD_PRELOAD": str(shim), SHIM: str(shim)}
    done = subprocess.run(
        [sys.executable, __file__, "--batch", str(seed), "--failures", str(n_failures)],
        env=env,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    if done.returncode != 0:
        raise SystemExit(
            f"seed {seed}: exit code {done.returncode} after '{last}'\n{done.stderr}"
        )
    n_calls, n_errors = map(int, last.split())
    return n_calls, n_errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=0, help="seed of the first batch")
    parser.add_argument("--only", type=int, help="run only the batch of this seed")
    parser.add_argument(
        "--failures", type=int, default=12, help="failed allocations per call"
    )
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.batch is not None:
        print(*run_batch(arguments.batch, arguments.failures))
        return
    end = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        shim = build(pathlib.Path(folder))
        seed = arguments.first if arguments.only is None else arguments.only
        while True:
            n_calls, n_errors = start_batch(seed, arguments.failures, shim)
            print(f"seed {seed}: {n_calls} calls, {n_errors} MemoryErrors", flush=True)
            seed += 1
            if arguments.only is not None or time.monotonic() > end:
                return


if __name__ == "__main__":
    main()
