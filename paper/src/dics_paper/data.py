"""The data sets of the experiments and of the benchmarks."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import datasets as bundled
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split

from dics_paper.datasets import DatasetNotFoundError, load_dataset, make_paper_synthetic
from dics_paper.datasets._files import DATA_VARIABLE, data_dir_from, file_of, read_npz
from dics_paper.datasets._real import SPECS, STAND_INS
from dics_paper.paper import DATASETS

# The paper's real data sets, with their names in its tables.
LABELS = {
    "helena": "Helena",
    "spambase": "Spambase",
    "santander": "Santander",
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
}
# Real data sets for regression, which are only read from files.
REGRESSION_FILES = {
    "california_housing": "California housing",
    "bike_sharing": "Bike sharing",
    "protein_casp": "Protein structure",
}
# Data sets of the benchmarks. Files have an official split only if it is in `SPECS`.
FILES = (
    "mnist",
    "fashion_mnist",
    "cifar10",
    "spambase",
    "helena_part",
    "electricity",
    "adult",
    "magic",
    "letter",
    "otto",
    "santander_satisfaction",
    "jannis_part",
    "dry_bean",
    "connect_4",
)
BUNDLED = {
    "digits": bundled.load_digits,
    "breast_cancer": bundled.load_breast_cancer,
    "wine": bundled.load_wine,
    "iris": bundled.load_iris,
}
GENERATED = {  # training rows, features and classes
    "synthetic_6000x500": (6_000, 500, 5),
    "synthetic_10000x1000": (10_000, 1_000, 10),
    "synthetic_20000x5000": (20_000, 5_000, 5),
    "synthetic_20000x5000_K10": (20_000, 5_000, 10),
}
BENCHMARK_NAMES = (*FILES, *BUNDLED, *GENERATED)


class Split(NamedTuple):
    """Training and test rows; X is float32 in C order, which all models accept.

    Classes are integers from 0, as XGBoost requires. A test row whose class is not in
    the training rows has the class -1, so that every prediction is wrong.
    """

    X_train: npt.NDArray[np.float32]
    y_train: npt.NDArray[Any]
    X_test: npt.NDArray[np.float32]
    y_test: npt.NDArray[Any]
    n_classes: int  # 0 for regression
    note: str = ""

    @property
    def size(self) -> list[int]:
        """Training rows, test rows, features and classes."""
        n_train, n_features = self.X_train.shape
        return [n_train, len(self.y_test), n_features, self.n_classes]

    @property
    def shape(self) -> str:
        """Training rows and features as text for a table."""
        return "{} x {}".format(*self.X_train.shape)

    def accuracy(self, model: Any) -> float:
        """Return the test accuracy of a model, or R2 for regression."""
        if self.n_classes == 0:
            return float(r2_score(self.y_test, model.predict(self.X_test)))
        return float(np.mean(model.predict(self.X_test) == self.y_test))

    def log_loss(self, model: Any) -> float:
        """Return the log-loss of a model on the test rows."""
        p = model.predict_proba(self.X_test)
        return float(log_loss(self.y_test, p, labels=range(self.n_classes)))

    def guess_log_loss(self) -> float:
        """Return the log-loss of predicting the class frequencies for every row."""
        frequencies = np.bincount(self.y_train) / len(self.y_train)
        p = np.tile(frequencies, (len(self.y_test), 1))
        return float(log_loss(self.y_test, p, labels=range(self.n_classes)))


@dataclass(frozen=True)
class Data:
    """Description of a data set, small enough to be part of a task.

    With `stand_in`, data of the same shape are generated if the data set is missing.
    """

    name: str
    label: str
    n_samples: int = 0  # rows to train on; 0 means all
    n_features: int = 0
    n_classes: int = 0
    rho: float | None = None  # of the paper's generator; None for a real data set
    class_weights: str = "per_class"
    stand_in: bool = False
    local: bool = False  # never download from OpenML
    origin: str = ""  # of a real data set, if it is known before loading
    has_numbers: bool = False  # regression

    @property
    def same_rows(self) -> bool:
        """Whether all repetitions use the same rows."""
        if self.rho is not None:
            return False
        # Whether OpenML has the data set is not known before the download.
        generated = self.stand_in and self.origin in ("generated", "OpenML")
        spec = SPECS.get(self.name)
        return generated or (spec is not None and spec.n_train is not None)

    def load(self, repeat: int, data_dir: Path | None = None) -> Split:
        """Generate or read the rows of one repetition."""
        if self.has_numbers:
            return self._load_numbers(repeat, data_dir)
        if self.rho is not None:
            return self._generate(repeat)
        try:
            return self._read(repeat, data_dir)
        except DatasetNotFoundError:
            if not self.stand_in:
                raise
        return self._generate(repeat)._replace(note=self._stand_in_note())

    def found_in(self, data_dir: Path | None) -> Data:
        """Return a copy with the origin of the rows, as another file is other data."""
        if self.rho is not None or (self.has_numbers and self.n_samples):
            return self
        return replace(self, origin=self._origin(data_dir))

    def _origin(self, data_dir: Path | None) -> str:
        directory = data_dir_from(data_dir)
        if directory is not None:
            stand_in = STAND_INS.get(self.name)
            for name in [self.name, *([stand_in.name] if stand_in else [])]:
                file = file_of(directory, name)
                if file.is_file():
                    return f"{file.name}, {file.stat().st_size} bytes"
        if self.local or data_dir is not None:
            return "generated" if self.stand_in else "nowhere"
        return "OpenML"

    def _generate(self, repeat: int) -> Split:
        # A quarter of real data is held out; synthetic data get a quarter more rows.
        n_test = max(self.n_samples // (3 if self.rho is None else 4), 50)
        X, y = make_paper_synthetic(
            self.n_samples + n_test,
            self.n_features,
            self.n_classes,
            rho=0.5 if self.rho is None else self.rho,
            class_weights=self.class_weights,
            random_state=0 if self.rho is None else repeat,
        )
        n = self.n_samples
        return with_class_indices(X[:n], y[:n], X[n:], y[n:])

    def _load_numbers(self, repeat: int, data_dir: Path | None) -> Split:
        """Load regression rows: Friedman's first function, or a file."""
        if self.n_samples:
            n_test = self.n_samples // 4
            X, y = bundled.make_friedman1(
                self.n_samples + n_test, self.n_features, noise=1.0, random_state=repeat
            )
        else:
            directory = data_dir_from(data_dir)
            assert directory is not None
            X, y = read_npz(file_of(directory, self.name))
            n_test = len(y) // 4
        X, X_test, y, y_test = train_test_split(
            X.astype(np.float32), y, test_size=n_test, random_state=repeat
        )
        return Split(X, y, X_test, y_test, n_classes=0)

    def _read(self, repeat: int, data_dir: Path | None) -> Split:
        if self.name not in SPECS:
            return self._hold_out_a_quarter(repeat, data_dir)
        data = load_dataset(self.name, self._directory(data_dir), random_state=repeat)
        X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
        if self.n_samples and self.n_samples < len(y):
            X, _, y, _ = train_test_split(
                X, y, train_size=self.n_samples, random_state=0
            )
            X_test, y_test = X_test[: self.n_samples], y_test[: self.n_samples]
        return with_class_indices(X, y, X_test, y_test)._replace(note=data.note)

    def _hold_out_a_quarter(self, repeat: int, data_dir: Path | None) -> Split:
        """Split a data set that is not in the paper."""
        if self.name in BUNDLED:
            X, y = BUNDLED[self.name](return_X_y=True)
        else:
            directory = self._directory(data_dir)
            assert directory is not None
            file = file_of(directory, self.name)
            if not file.is_file():
                raise DatasetNotFoundError(f"{self.name}: {file} does not exist")
            X, y = read_npz(file)
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=0.25, random_state=repeat
        )
        return with_class_indices(X, y, X_test, y_test)

    def _directory(self, data_dir: Path | None) -> Path | None:
        """Return the only directory to read from; None allows OpenML."""
        if data_dir is not None or not self.local:
            return data_dir
        named = os.environ.get(DATA_VARIABLE)
        if not named:
            raise DatasetNotFoundError(
                f"{self.name}: set {DATA_VARIABLE} to a directory that holds "
                f"{self.name}/{self.name}.npz (arrays X and y)"
            )
        return Path(named)

    def _stand_in_note(self) -> str:
        return (
            "the data set is not available and is replaced by generated data of "
            f"{self.n_samples} x {self.n_features} with {self.n_classes} classes; only "
            "the times are meaningful"
        )


def with_class_indices(X: Any, y: Any, X_test: Any, y_test: Any) -> Split:
    """Replace the classes by indices from 0, and convert X to float32."""
    classes, indices = np.unique(y, return_inverse=True)
    found = np.searchsorted(classes, y_test)
    known = classes[np.minimum(found, len(classes) - 1)] == y_test
    return Split(
        np.ascontiguousarray(X, dtype=np.float32),
        indices,
        np.ascontiguousarray(X_test, dtype=np.float32),
        np.where(known, found, -1),
        len(classes),
    )


def synthetic(
    n_samples: int,
    n_features: int,
    n_classes: int,
    rho: float,
    class_weights: str = "per_class",
) -> Data:
    """Return the description of data from the paper's generator."""
    return Data(
        f"{n_samples}x{n_features}-k{n_classes}",
        f"{n_samples} x {n_features}, {n_classes} classes",
        n_samples,
        n_features,
        n_classes,
        rho,
        class_weights,
    )


def friedman(n_samples: int, n_features: int) -> Data:
    """Return the description of generated regression data."""
    name = f"friedman-{n_samples}x{n_features}"
    label = f"Friedman's first function, {n_samples} x {n_features}"
    return Data(name, label, n_samples, n_features, has_numbers=True)


def regression_file(name: str) -> Data:
    """Return the description of real regression data, which are not downloaded."""
    return Data(name, REGRESSION_FILES[name], local=True, has_numbers=True)


def real(name: str) -> Data:
    """Return the description of a real data set; only Santander has a stand-in."""
    if name != "santander":
        return Data(name, LABELS[name])
    n_rows, n_features, n_classes = DATASETS[name]
    n_train = n_rows * 3 // 4
    return Data(name, LABELS[name], n_train, n_features, n_classes, stand_in=True)


def reduced(name: str, n_samples: int) -> Data:
    """Return the description of few rows, real or (without a file) generated.

    It is for quick tests, so nothing is downloaded.
    """
    _, n_features, n_classes = DATASETS[name]
    return Data(
        name,
        LABELS[name],
        n_samples,
        min(n_features, 60),
        min(n_classes, 12),
        stand_in=True,
        local=True,
    )


def of_benchmark(name: str) -> Data:
    """Return the description of a benchmark data set, which is not downloaded."""
    if name in GENERATED:
        return synthetic(*GENERATED[name], rho=0.5)
    return Data(name, name, local=True)
