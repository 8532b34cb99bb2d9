"""Fit random data and load corrupted models: nothing may crash, hang or return NaN.

    make fuzz SECONDS=600
    python tools/fuzz.py --seconds 60 --first 1000     # seeds 1000, 1001, ...
    python tools/fuzz.py --seed 1234                    # one case, in this process

Each batch of cases runs in its own process. A crash or a hang ends the batch only; its
seed is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import pickle
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

import dics
from dics._boosting.losses import LOG_LINK_LOSSES
from dics._model.trees import Trees

BATCH = 40
TIMEOUT = 120  # seconds per batch
# Arrays of the trees that a case corrupts.
ARRAYS = (
    "nodes",
    "missing_left",
    "weight",
    "impurity",
    "gain",
    "n_samples",
    "leaf_values",
    "node_starts",
    "leaf_starts",
)
EXTREMES = (0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 40, -40, 1e300, np.nan, np.inf)


def make_rows(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Generate rows of random shape and type, with extreme and missing values."""
    n, p = int(rng.integers(1, 300)), int(rng.integers(1, 30))
    kind = rng.choice(["f4", "f8", "u1"])
    if kind == "u1":
        return rng.integers(0, 256, size=(n, p)).astype(kind)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-30, 30)
    if rng.random() < 0.5:
        X = np.round(X, 1)
    if rng.random() < 0.3:
        X[rng.random(X.shape) < 0.2] = np.nan
    if rng.random() < 0.2:
        X[rng.random(X.shape) < 0.1] = rng.choice([np.inf, -np.inf])
    if rng.random() < 0.2:
        X[:, 0] = 1.7e9 + np.arange(n)
    order = rng.choice(["C", "F"])
    return np.asarray(X, dtype=kind, order=order)


def make_model(rng: np.random.Generator) -> Any:
    """Return one of the six estimators with random parameters."""
    seed = int(rng.integers(1000))
    common = {"random_state": seed, "n_jobs": int(rng.integers(1, 4))}
    leaf = int(rng.integers(1, 30))
    choice = int(rng.integers(6))
    if choice < 4:
        common["ccp_alpha"] = float(rng.choice([0.0, 0.0, 0.01]))
        if choice % 2 == 1:
            common["criterion"] = str(rng.choice(["squared_error", "absolute_error"]))
    if choice < 2:
        cls = (dics.CGTreeClassifier, dics.CGTreeRegressor)[choice]
        return cls(
            max_depth=[None, 1, 5][rng.integers(3)],
            max_leaf_nodes=[None, 2, 20][rng.integers(3)],
            max_features=[None, 1, "sqrt"][rng.integers(3)],
            min_samples_leaf=leaf,
            **common,
        )
    if choice < 4:
        cls = (dics.CGForestClassifier, dics.CGForestRegressor)[choice - 2]
        return cls(
            n_estimators=int(rng.integers(1, 6)),
            bootstrap=bool(rng.integers(2)),
            max_leaf_nodes=[None, 2, 20][rng.integers(3)],
            **common,
        )
    sampling = [None, "goss", "mvs", "auto"][rng.integers(4)]
    options = {
        "n_estimators": int(rng.integers(1, 12)),
        "sampling": sampling,
        "max_leaf_nodes": [2, 31, 90, None][rng.integers(4)],
        "min_samples_leaf": leaf,
        "l2_regularization": float(rng.choice([0.0, 0.1, 10.0])),
        **common,
    }
    if choice == 4:
        return dics.CGBoostingClassifier(**options)
    losses = ["squared_error", "absolute_error", "huber", "quantile", *LOG_LINK_LOSSES]
    loss = str(rng.choice(losses))
    return dics.CGBoostingRegressor(loss=loss, **options)


def make_target(model: Any, n: int, rng: np.random.Generator) -> Any:
    """Generate the target for a classifier or a regressor."""
    if hasattr(model, "predict_proba"):
        return rng.integers(0, rng.integers(1, 8), size=n)
    y = rng.normal(size=n) * 10.0 ** rng.integers(-25, 26)
    return np.abs(y) + 1e-9 if getattr(model, "loss", "") in LOG_LINK_LOSSES else y


def restrict(model: Any, X: Any, y: Any, rng: np.random.Generator) -> None:
    """Set parameters that depend on the data, and make the last column categories."""
    is_class, n_features = hasattr(model, "predict_proba"), X.shape[1]
    if is_class and rng.random() < 0.3:
        model.set_params(class_weight="balanced")
    is_categorical = rng.random() < 0.2
    if is_categorical:
        X[:, -1] = rng.integers(0, rng.integers(1, 60), size=len(X))
        model.set_params(categorical_features=[n_features - 1])
    # Constraints do not support several classes or medians.
    has_medians = getattr(model, "criterion", "") == "absolute_error"
    n_classes = len(np.unique(y)) if is_class else 0
    if n_classes <= 2 and not has_medians and rng.random() < 0.3:
        signs = rng.integers(-1, 2, size=n_features)
        if is_categorical:
            signs[-1] = 0
        model.set_params(monotonic_cst=signs)


def make_offset(model: Any, y: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Return an offset for some fits of boosting."""
    if not hasattr(model, "learning_rate") or rng.random() < 0.7:
        return {}
    n_scores = len(np.unique(y)) if hasattr(model, "predict_proba") else 1
    shape = (len(y), n_scores) if n_scores > 2 else len(y)
    return {"offset": rng.normal(size=shape) * 10.0 ** rng.integers(-2, 2)}


def check_predictions(model: Any, X: Any) -> None:
    """Check that all predictions are finite."""
    for name in ("predict", "predict_proba", "predict_contributions"):
        if hasattr(model, name):
            answer = np.asarray(getattr(model, name)(X))
            if answer.dtype.kind == "f" and not np.isfinite(answer).all():
                raise AssertionError(f"{name} returned a value that is not finite.")
    model.apply(X)


def corrupt_trees(model: Any, X: Any, rng: np.random.Generator) -> None:
    """Change one value in an array of the trees: ValueError or a safe model."""
    fields = dict(vars(model.trees_))
    name = str(rng.choice(ARRAYS))
    array = np.array(fields[name])
    if array.size == 0:
        return
    flat = array.reshape(-1)
    index = int(rng.integers(len(flat)))
    value = EXTREMES[rng.integers(len(EXTREMES))]
    with np.errstate(all="ignore"):
        try:
            if name == "nodes":
                field = str(rng.choice(["feature", "threshold", "left"]))
                flat[field][index] = value
            else:
                flat[index] = value
        except (OverflowError, ValueError):
            return
    fields[name] = array
    try:
        trees = Trees(**fields)
    except ValueError:
        return
    trees.apply(X, 1)
    changed = pickle.loads(pickle.dumps(model))
    changed.trees_ = trees
    try:
        check_predictions(changed, X)
    except (AssertionError, ValueError):
        return


def corrupt_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip random bits."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def check_copies(model: Any, X: Any, rng: np.random.Generator) -> None:
    """Compare a pickle and a model file, and change bytes of the file.

    NumPy itself crashes on a pickle whose dtypes were changed, so those stay whole.
    """
    file = io.BytesIO()
    model.save(file)
    content = file.getvalue()
    for same in (dics.load(io.BytesIO(content)), pickle.loads(pickle.dumps(model))):
        if not np.array_equal(same.predict(X), model.predict(X)):
            raise AssertionError("The predictions of a copy differ.")
    with contextlib.suppress(Exception):  # anything but a crash
        changed = dics.load(io.BytesIO(corrupt_bytes(content, rng)))
        check_predictions(changed, X)


def run_case(seed: int) -> None:
    """Run one case; raise an error if a check fails."""
    rng = np.random.default_rng(seed)
    X, model = make_rows(rng), make_model(rng)
    y = make_target(model, len(X), rng)
    restrict(model, X, y, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = rng.random(len(X)) + 0.1 if rng.random() < 0.3 else None
        more = make_offset(model, y, rng)
        model.fit(X, y, sample_weight=weights, **more)
        check_predictions(model, X)
        once = model.predict(X)
        model.set_params(n_jobs=1).fit(X, y, sample_weight=weights, **more)
        if not np.array_equal(once, model.predict(X)):
            raise AssertionError("The model depends on the number of threads.")
        check_copies(model, X, rng)
        for _ in range(5):
            corrupt_trees(model, X, rng)


def run_batch(first: int, n: int) -> None:
    """Run cases in this process; print the seed of each."""
    for seed in range(first, first + n):
        print(json.dumps({"seed": seed}), flush=True)
        run_case(seed)


def search(first: int, seconds: float) -> int:
    """Run batches until the time is over; return the number of failures."""
    end = time.monotonic() + seconds
    n_cases = n_failed = 0
    while time.monotonic() < end:
        command = [sys.executable, __file__, "--batch", str(first)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
            output, message = done.stdout, done.stderr[-600:]
            failed = done.returncode != 0
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode()
            failed, message = True, f"no end within {TIMEOUT} s"
        seeds = [json.loads(line)["seed"] for line in output.splitlines()]
        n_cases += len(seeds)
        if failed:
            n_failed += 1
            last = seeds[-1] if seeds else first
            print(f"seed {last} failed:\n{message}", flush=True)
            first = last + 1
        else:
            first += BATCH
    print(f"{n_cases} cases, {n_failed} failed; next seed {first}")
    return n_failed


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seed", type=int, help="run only this case")
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        run_case(arguments.seed)
        return 0
    if arguments.batch is not None:
        run_batch(arguments.batch, BATCH)
        return 0
    return 1 if search(arguments.first, arguments.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
