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
from dics._estimator.arguments import effective_n_threads

if TYPE_CHECKING:
    from dics_paper.options import Options

SCALES = ("smoke", "medium", "paper")
INTERRUPTED = 130  # the exit code of a shell after Ctrl-C

EXAMPLES = """\
examples:
  dics-paper all --scale smoke            a quick test of everything
  dics-paper table real-tree --limit 300  one table; stop fits after 300 s
  dics-paper figure sensitivity
  dics-paper table real-boosting --models fastcgbm lightgbm --datasets mnist

Finished fits are stored in the output directory, so the same command resumes a
run that was stopped. Real data sets are read from --data-dir or DICS_DATA_DIR,
otherwise from OpenML.
"""
NAMES = {
    "all": EXAMPLES,
    "table": """\
tables:
  datasets            the real data sets
  synthetic-tree      a single tree on the paper's synthetic data (--rho: both)
  synthetic-forest    a forest
  synthetic-boosting  boosting
  real-tree           a single tree on real data
  real-forest         a forest
  real-boosting       boosting
  depth-gain          impurity reduction by depth, with exhaustive search
  split-scaling       gain gap at the root by number of rows
  regression-tree     (not in the paper) a single regression tree
  regression-forest   (not in the paper) a regression forest
  regression-boosting (not in the paper) boosting for regression
""",
    "figure": """\
figures:
  illustration        classification and clustering boundaries
  sensitivity         accuracy by m, k, D and b
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
            f"\nStopped. Finished fits are stored in {arguments.out}; the same command "
            "resumes the run.",
            file=sys.stderr,
        )
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        print(f"dics-paper: error: {error}", file=sys.stderr)
        return 2


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"dics-paper: warning: {message}", file=sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="dics-paper",
        description="Reproduce tables and figures of the paper, compare them with\n"
        "the printed ones, and write an HTML report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    versions = f"dics-paper {version('dics-paper')}, dics {dics.__version__}"
    parser.add_argument("--version", action="version", version=versions)
    kinds = parser.add_subparsers(dest="kind", title="parts")
    for kind, text in (
        ("all", "every table and figure"),
        ("table", "tables by name"),
        ("figure", "figures by name"),
    ):
        part = kinds.add_parser(
            kind,
            help=text,
            description=f"Reproduce {text}.",
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
        help="smoke: small data, minutes; medium: one or two hours; paper: the sizes "
        "and repetitions of the paper, more than a day (default: medium)",
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
        help="stop a single fit that takes longer; the table shows '> SECONDS'",
    )
    add(
        "--models",
        nargs="+",
        metavar="MODEL",
        help="only these models, such as cgct-paper decision-tree",
    )
    add(
        "--datasets",
        nargs="+",
        metavar="DATA",
        help="only these data sets, such as mnist, 10000x1000 or 10000x1000-k3",
    )
    add("--repeats", type=positive_integer, metavar="N", help="runs per model")
    add(
        "--jobs",
        type=positive_integer,
        metavar="N",
        help="threads per fit (default: all cores)",
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
        help="interpretation of the paper's synthetic scores (default: per_class)",
    )
    add(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="directory with <name>/<name>.npz of the real data sets",
    )
    add(
        "--kept",
        action="store_true",
        help="build the report from stored fits only",
    )


def seconds(text: str) -> float:
    """Parse a limit in seconds."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be positive and finite, got {text}.")
    return value


def positive_integer(text: str) -> int:
    """Parse a count."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text}.")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Reproduce the requested parts, and print them and the path of the report."""
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
                    f"Unknown {arguments.kind} {name!r}; use one of {', '.join(known)}."
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
    """Check the arguments and return them as options."""
    from dics_paper.options import Options, check_datasets, check_models
    from dics_paper.scales import SCALES as KNOWN

    scale = KNOWN[arguments.scale]
    if arguments.models is not None:
        check_models(arguments.models)
    if arguments.datasets is not None:
        check_datasets(arguments.datasets, scale)
    if arguments.data_dir is not None and not arguments.data_dir.is_dir():
        raise ValueError(f"The data directory {arguments.data_dir} does not exist.")
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
