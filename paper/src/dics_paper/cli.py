"""The command `dics-paper`."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import dics
from dics._estimator.running import effective_n_threads

if TYPE_CHECKING:
    from dics_paper.options import Options

SCALES = ("smoke", "medium", "paper")
INTERRUPTED = 130  # what a shell expects after Ctrl-C

EXAMPLES = """\
examples:
  dics-paper all --scale smoke            see that everything runs
  dics-paper table real-tree --limit 300  one table; stop fits after 300 s
  dics-paper figure sensitivity
  dics-paper table real-boosting --models fastcgbm lightgbm --datasets mnist

Finished fits are kept in the output directory: the same command continues where
it was stopped. Real data sets come from --data-dir or DICS_DATA_DIR, otherwise
from OpenML.
"""
NAMES = {
    "all": EXAMPLES,
    "table": """\
tables:
  datasets            the real data sets
  synthetic-tree      one tree on the paper's synthetic data (--rho: both)
  synthetic-forest    a forest
  synthetic-boosting  boosting
  real-tree           one tree on real data
  real-forest         a forest
  real-boosting       boosting
  depth-gain          impurity reduction by depth, and that of exhaustive search
  split-scaling       gain gap at the root over the number of rows
  regression-tree     beyond the paper: one tree with a number as the target
  regression-forest   a forest
  regression-boosting boosting
""",
    "figure": """\
figures:
  illustration        classification and clustering boundaries
  sensitivity         accuracy over m, k, D and b
""",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if arguments.kind is None:
        parser.print_help()
        return 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _show_warning  # restored at the end of the block
            return run(arguments)
    except KeyboardInterrupt:
        print(
            f"\nstopped; finished fits are kept in {arguments.out}, and the same "
            "command continues from there",
            file=sys.stderr,
        )
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        print(f"dics-paper: error: {error}", file=sys.stderr)
        return 2


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"dics-paper: warning: {message}", file=sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        prog="dics-paper",
        description="Reproduce tables and figures of the paper, compare them with\n"
        "those that the paper prints, and write one HTML report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    versions = f"dics-paper {version('dics-paper')}, dics {dics.__version__}"
    parser.add_argument("--version", action="version", version=versions)
    kinds = parser.add_subparsers(dest="kind", title="what")
    for kind, text in (
        ("all", "every table and figure"),
        ("table", "some tables, by their names"),
        ("figure", "some figures, by their names"),
    ):
        part = kinds.add_parser(
            kind,
            help=text,
            description=f"Make {text}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=NAMES[kind],
        )
        if kind != "all":
            part.add_argument("names", nargs="+", metavar="NAME", help="see below")
        _add_options(part)
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--scale",
        choices=SCALES,
        default="medium",
        help="smoke: minutes, small data; medium: an hour or two; paper: the paper's "
        "sizes and repetitions, a day and more (default: medium)",
    )
    add(
        "--out",
        type=Path,
        default=Path("reproduction"),
        metavar="DIR",
        help="directory of the report and of finished fits (default: reproduction)",
    )
    add(
        "--limit",
        type=seconds,
        metavar="SECONDS",
        help="stop a single fit that takes longer; the table says '> SECONDS'",
    )
    add(
        "--models",
        nargs="+",
        metavar="MODEL",
        help="only these, such as cgct-paper decision-tree",
    )
    add(
        "--datasets",
        nargs="+",
        metavar="DATA",
        help="only these, such as mnist, 10000x1000 or 10000x1000-k3",
    )
    add("--repeats", type=whole_number, metavar="N", help="runs of each model")
    add(
        "--jobs",
        type=whole_number,
        metavar="N",
        help="threads that each fit may use (default: all cores)",
    )
    add(
        "--rho",
        type=float,
        choices=(0.5, 0.0),
        help="correlation of the synthetic features (default: both)",
    )
    add(
        "--class-weights",
        choices=("per_class", "shared"),
        default="per_class",
        help="how the paper's synthetic scores are read (default: per_class)",
    )
    add(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="directory with <name>/<name>.npz of the real sets",
    )
    add(
        "--kept",
        action="store_true",
        help="make the report from finished fits, without any new one",
    )


def seconds(text: str) -> float:
    """Read a limit."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def whole_number(text: str) -> int:
    """Read a count."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive whole number")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Make what was asked for, show it and say where it is."""
    from dics_paper.files import check_out
    from dics_paper.report.document import Table
    from dics_paper.report.render import print_table
    from dics_paper.reproduction import FIGURES, TABLES, names_of, reproduce

    names = None
    if arguments.kind != "all":
        known = names_of(TABLES if arguments.kind == "table" else FIGURES)
        for name in arguments.names:
            if name not in known:
                raise ValueError(
                    f"unknown {arguments.kind} {name!r}; known are {', '.join(known)}"
                )
        names = arguments.names
    options = make_options(arguments)
    check_out(arguments.out)
    written = reproduce(
        names,
        options,
        arguments.out,
        limit=arguments.limit,
        fit=not arguments.kept,
    )
    if names is not None:
        for part in written.document.parts:
            if isinstance(part, Table):
                print_table(part)
    print(f"report: {written.report}")
    failed = [r for r in written.results.runs() if r.result.status == "failed"]
    return 1 if failed else 0


def make_options(arguments: argparse.Namespace) -> Options:
    """Check what was asked for."""
    from dics_paper.options import Options, check_datasets, check_models
    from dics_paper.scales import SCALES as KNOWN

    scale = KNOWN[arguments.scale]
    if arguments.models is not None:
        check_models(arguments.models)
    if arguments.datasets is not None:
        check_datasets(arguments.datasets, scale)
    if arguments.data_dir is not None and not arguments.data_dir.is_dir():
        raise ValueError(f"the data directory {arguments.data_dir} does not exist")
    return Options(
        scale,
        effective_n_threads(arguments.jobs),
        None if arguments.models is None else tuple(arguments.models),
        None if arguments.datasets is None else tuple(arguments.datasets),
        arguments.repeats,
        arguments.rho,
        arguments.class_weights,
        arguments.data_dir,
    )


if __name__ == "__main__":
    sys.exit(main())
