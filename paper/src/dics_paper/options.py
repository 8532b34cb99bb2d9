"""Options of a reproduction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dics_paper.data import LABELS, Data
from dics_paper.models import ALL
from dics_paper.scales import Scale


@dataclass(frozen=True)
class Options:
    """Scale, models and data sets of a reproduction."""

    scale: Scale
    n_jobs: int
    models: tuple[str, ...] | None = None  # None means all
    datasets: tuple[str, ...] | None = None
    repeats: int | None = None  # None means that of the scale
    rho: float | None = None  # None means both
    class_weights: str = "per_class"
    data_dir: Path | None = None

    @property
    def n_repeats(self) -> int:
        """Number of runs per model."""
        return self.scale.repeats if self.repeats is None else self.repeats

    def real_data(self) -> list[Data]:
        """Return the chosen real data sets with their origins."""
        return [self.real(d.name) for d in self.scale.real_data() if self.includes(d)]

    def real(self, name: str) -> Data:
        """Return a real data set with its origin."""
        return self.scale.real(name).found_in(self.data_dir)

    def synthetic_data(self, rho: float) -> list[Data]:
        """Return the chosen generated data sets."""
        sets = self.scale.synthetic_data(rho, self.class_weights)
        return [data for data in sets if self.includes(data)]

    def regression_data(self) -> list[Data]:
        """Return the chosen data sets for regression."""
        sets = [data.found_in(self.data_dir) for data in self.scale.regression_data()]
        return [d for d in sets if self.includes(d) and d.origin != "nowhere"]

    def includes_model(self, *names: str) -> bool:
        """Return True if one of the models was chosen."""
        return self.models is None or any(name in self.models for name in names)

    def includes(self, data: Data) -> bool:
        """Return True if a data set was chosen by its name or its size."""
        if self.datasets is None:
            return True
        return data.name in self.datasets or data.name.split("-")[0] in self.datasets


def check_models(names: Iterable[str]) -> None:
    """Raise a ValueError that lists the models if a name is unknown."""
    _check("model", names, [model.name for model in ALL])


def check_datasets(names: Iterable[str], scale: Scale) -> None:
    """Raise a ValueError that lists the data sets if a name is unknown."""
    sizes = [f"{n}x{p}" for shapes in scale.sizes.values() for n, p in shapes]
    full = [f"{size}-k{k}" for size in dict.fromkeys(sizes) for k in scale.classes]
    regression = [data.name for data in scale.regression_data()]
    _check("data set", names, [*LABELS, *dict.fromkeys(sizes), *full, *regression])


def _check(kind: str, names: Iterable[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"Unknown {kind} {name!r}; use one of {', '.join(known)}.")
