"""Options of the tests, and the choice of those that `make test` runs."""

import os
import zlib

import pytest
import selection

# Before the core is loaded: more threads than a small machine has cores.
os.environ.setdefault("DICS_CORES", "4")


def pytest_addoption(parser):
    parser.addoption(
        "--seed-offset",
        type=int,
        default=0,
        help="added to the seeds of slow random tests; `make test-all` sets it by date",
    )


def pytest_configure(config):
    import fit_checks  # after DICS_CORES is set

    fit_checks.install()
    selection.offset = config.getoption("--seed-offset")


def pytest_report_header(config):
    return f"seed offset: --seed-offset={selection.offset}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark all cases of a test as slow, except those that `quick(n)` keeps."""
    cases = {}
    for item in items:
        if item.get_closest_marker("quick") is not None:
            cases.setdefault((item.path, item.originalname), []).append(item)
    for same_test in cases.values():
        n_kept = same_test[0].get_closest_marker("quick").args[0]
        for item in _in_order(same_test)[n_kept:]:
            item.add_marker("slow")


def _in_order(items):
    """Sort cases: first those that cover every value of every parameter."""
    pending = sorted(items, key=lambda item: zlib.crc32(item.name.encode()))
    seen, first, rest = set(), [], []
    for item in pending:
        values = set(item.callspec.indices.items())
        (rest if values <= seen else first).append(item)
        seen |= values
    return first + rest
