"""Output, sizes and the command line of the benchmarks."""

from __future__ import annotations

import argparse
import ctypes
import json
import pickle
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dics_paper.data import BENCHMARK_NAMES, Split, of_benchmark
from dics_paper.datasets import DatasetNotFoundError
from dics_paper.environment import describe, machine
from dics_paper.paper import printed
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_seconds
from dics_paper.timing import measure

RESULTS = Path(__file__).resolve().parent / "results"
PEERS_FILE = RESULTS / "peers.jsonl"  # results of slow fits of other libraries


def load(name: str) -> Split:
    """Load a data set by name; raise DatasetNotFoundError if its file is missing."""
    return of_benchmark(name).load(0)


def describe_split(split: Split) -> dict[str, int]:
    rows, _, features, classes = split.size
    return {"rows": rows, "features": features, "classes": classes}


def paper_ratio(name: str, family: str, peer: str) -> float | None:
    """Return the speed-up of the paper's model over another model, as printed there.

    The paper uses all rows of Helena.
    """
    data = of_benchmark(name)
    table = f"{'real' if data.rho is None else 'synthetic'}-{family}"
    ratio = printed(table, data.rho, data.name.removesuffix("_part"), peer).ratio
    return float(ratio) if ratio else None


def measure_fit(
    make: Callable[[], Any], split: Split, repeats: int | None = None
) -> tuple[dict[str, Any], Any]:
    """Time the whole fit of a new model; return time and accuracy, and the model."""
    timing, model = measure(lambda: make().fit(split.X_train, split.y_train), repeats)
    result = {
        "seconds": timing.seconds,
        "runs": timing.runs,
        "spread": round(timing.spread, 3),
        "accuracy": split.accuracy(model),
    }
    return result, model


def show_fit(fit: dict[str, Any]) -> str:
    """Return the time of a result of measure_fit, with a star if it ran once."""
    return show_seconds(fit["seconds"]) + ("*" if fit["runs"] == 1 else "")


def show_verdict(ratio: float, target: float | None) -> str:
    """Return the target of a speed-up and whether it is met."""
    if target is None:
        return "-"
    return f"{target:g}x {'met' if ratio >= target else 'missed'}"


def print_loss_verdicts(
    rows: Sequence[dict[str, Any]], ours: str, peer: str, most_loss: float
) -> None:
    """Print whether dics loses at most `most_loss` of accuracy to another model."""
    for row in rows:
        gap = row[ours]["accuracy"] - row[peer]["accuracy"]
        word = "met" if gap >= -most_loss else "missed"
        print(
            f"- {row['data']}: {ours} {gap:+.4f} compared with {peer}, target at least "
            f"{-most_loss}: {word}"
        )


# --- size ------------------------------------------------------------------


class _Counter:
    """File that counts bytes, so that a large pickle is not kept in memory."""

    size = 0

    def write(self, data: Any) -> int:
        n_bytes = memoryview(data).nbytes
        self.size += n_bytes
        return n_bytes


def pickle_size(model: Any) -> int:
    """Return the size of a model's pickle in bytes."""
    file = _Counter()
    pickle.dump(model, file, protocol=pickle.HIGHEST_PROTOCOL)
    return file.size


def peak_growth(call: Callable[[], Any]) -> tuple[int, bool, Any]:
    """Return the growth of peak memory in a call, whether it is exact, and the result.

    The kernel's record of the peak is reset first. If this is not possible (not Linux),
    the growth is not exact: it may be too low.
    """
    exact = _reset_peak()
    before = _status_bytes("VmRSS") if exact else _max_rss_bytes()
    result = call()
    after = _status_bytes("VmHWM") if exact else _max_rss_bytes()
    return after - before, exact, result


def _reset_peak() -> bool:
    try:
        ctypes.CDLL(None).malloc_trim(0)  # a call could reuse freed pages
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except (OSError, AttributeError):
        return False
    return True


def _status_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def _max_rss_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


# --- output ----------------------------------------------------------------


def print_header(title: str) -> None:
    print(f"## {title}\n\n{describe(machine())}\n", flush=True)


def save_json(file: Path | None, benchmark: str, **content: Any) -> None:
    """Write the result of a benchmark and a description of the machine."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    document = {"benchmark": benchmark, "machine": machine(), **content}
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"written: {file}", file=sys.stderr)


class Results(NamedTuple):
    """Rows of a benchmark, and the reasons for missing rows."""

    rows: list[dict[str, Any]]
    skipped: list[str]

    def print_table(
        self, columns: Sequence[str], as_cells: Callable[[dict[str, Any]], Any]
    ) -> None:
        if self.rows:
            print(markdown_table(columns, [as_cells(row) for row in self.rows]))

    def print_skipped(self) -> None:
        for reason in self.skipped:
            print(f"\nSkipped {reason}.")


def run_sets(
    names: Sequence[str],
    steps_per_set: int,
    run: Callable[[str, Steps], list[dict[str, Any]]],
) -> Results:
    """Collect the rows of each data set; skip missing data sets."""
    results = Results([], [])
    with Steps(steps_per_set * len(names)) as steps:
        for done, name in enumerate(names, start=1):
            try:
                results.rows.extend(run(name, steps))
            except DatasetNotFoundError as error:
                steps.begun = done * steps_per_set
                steps.say(f"skipped {error}")
                results.skipped.append(str(error))
    return results


# --- command line ----------------------------------------------------------


def asks_for_regression(argv: Sequence[str] | None) -> bool:
    """Return True if the options contain ``--task regression``."""
    parser = argparse.ArgumentParser(add_help=False)
    add_task(parser)
    known, _ = parser.parse_known_args(argv)
    return bool(known.task == "regression")


def add_task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        default="classification",
        help="regression has its own data, models and options",
    )


def make_parser(
    description: str | None, datasets: Sequence[str] = ()
) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark."""
    parser = argparse.ArgumentParser(description=description)
    if datasets:
        parser.add_argument(
            "--datasets",
            nargs="+",
            choices=BENCHMARK_NAMES,
            default=list(datasets),
            metavar="NAME",
            help=f"one of {', '.join(BENCHMARK_NAMES)}; default: {' '.join(datasets)}",
        )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result")
    return parser
