"""Fuzz the check and the predictions of trees in the core (Linux, clang).

    make fuzz-native SECONDS=600
    python tools/fuzz_native.py --runs 10000000
    python tools/fuzz_native.py --coverage      # lines and branches of stored inputs

The target is fuzz_native.cpp. Its first inputs are the trees of the model files of the
tests. Inputs that reach new code are stored in build/fuzz_native/corpus.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import struct
import subprocess
from collections.abc import Sequence

import numpy as np

import dics
from dics._model.trees import Trees

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "build" / "fuzz_native"
CORE = ROOT / "src" / "dics" / "core"
SOURCES = (
    "predict/check.cpp",
    "predict/predict.cpp",
    "predict/contributions.cpp",
    "data/encode.cpp",
    "kernels/dispatch.cpp",
    "team.cpp",
)
# Without coverage: they have hardly any branch, and run long.
KERNELS = ("contribution", "boost", "objective")
FLAGS = (
    "-std=c++20",
    f"-I{CORE}",
    "-DDICS_ISA=baseline",
    "-ffp-contract=off",
    "-g1",
    "-w",
)
SANITIZED = ("-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COUNTED = ("-fsanitize-coverage=inline-8bit-counters,pc-table",)
MOST_NODES, MOST_LEAVES, MOST_TREES = 120, 100, 7
# Fields of the header in fuzz_native.cpp.
HEADER = struct.Struct("<HH8B")
VALID, CLASSES, SETS, CHANGED, SPARSE = 1, 2, 4, 32, 64


def compile_target(program: str, plain: Sequence[str], counted: Sequence[str]) -> None:
    """Compile the core and the target; `counted` are more flags for the sources."""
    objects = FOLDER / f"{program}.o"
    objects.mkdir(parents=True, exist_ok=True)
    kernels = [f"kernels/{name}_kernels.cpp" for name in KERNELS]
    files = [(CORE / name, counted) for name in SOURCES]
    files += [(CORE / name, ()) for name in (*kernels, "kernels/kernels.cpp")]
    files += [(pathlib.Path(__file__).with_suffix(".cpp"), counted)]
    built = []
    for source, more in files:
        built.append(str(objects / f"{source.stem}.o"))
        command = ["clang++", *FLAGS, *plain, *more, "-c", str(source), "-o", built[-1]]
        subprocess.run(command, check=True)
    link = ["clang++", *plain, *more, "-fsanitize=fuzzer", *built, "-lpthread"]
    subprocess.run([*link, "-o", str(FOLDER / program)], check=True)


def input_of(trees: Trees, *, flags: int, n_rows: int) -> bytes:
    """Return the input of the target for some trees."""
    # Few of them, because long inputs take long.
    n_trees = int(np.searchsorted(trees.node_starts, MOST_NODES)) - 1
    trees = trees.first(min(max(n_trees, 0), MOST_TREES))
    values = trees.leaf_values[: MOST_LEAVES - 1].astype(np.float32)
    if trees.criterion and trees.leaf_values.dtype == np.float32:
        flags |= CLASSES
    sets = b""
    if trees.sets is not None:
        flags |= SETS
        sets = trees.sets.numbers.tobytes() + trees.sets.words[:7].tobytes()
    n_sets = 0 if trees.sets is None else min(len(trees.sets.words), 7)
    width = values.shape[1]
    header = HEADER.pack(
        len(trees.nodes),
        len(values),
        len(trees),
        trees.n_features,
        width - 1,
        n_sets,
        flags,
        n_rows,
        3,
        63,
    )
    arrays = (trees.nodes, trees.missing_left, trees.node_starts, trees.leaf_starts)
    content = [header, *(array.tobytes() for array in arrays), sets]
    content += [trees.weight.tobytes(), values.tobytes()]
    rows = np.random.default_rng(n_rows).normal(size=32).astype(np.float32)
    return b"".join([*content, rows.tobytes()])


def write_seeds(folder: pathlib.Path) -> None:
    """Write the trees of small models as first inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted((ROOT / "tests" / "model" / "model_files").glob("*.dics"))
    models = {path.stem: dics.load(path).trees_ for path in files}
    X = np.random.default_rng(0).integers(0, 9, (60, 3)).astype(np.float64)
    small = dics.CGBoostingRegressor(n_estimators=3, categorical_features=[0])
    models["categories"] = small.set_params(random_state=0).fit(X, X[:, 0] % 3).trees_
    models["no_trees"] = Trees.empty(2, 3)
    for name, trees in models.items():
        for n_rows in (0, 1, 2):
            for flags in (0, VALID, VALID | SPARSE, VALID | CHANGED):
                path = folder / f"{name}_{n_rows}_{flags}"
                path.write_bytes(input_of(trees, flags=flags, n_rows=n_rows))


def fuzz(*, seconds: int, runs: int) -> int:
    """Run the fuzzer; return its exit code."""
    compile_target("fuzz", SANITIZED, COUNTED)
    write_seeds(FOLDER / "seeds")
    corpus = FOLDER / "corpus"
    corpus.mkdir(exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-runs={runs}", "-max_len=4096"]
    options += [
        "-print_final_stats=1",
        "-reload=0",
        "-entropic=0",
        f"-artifact_prefix={FOLDER}/",
    ]
    command = [str(FOLDER / "fuzz"), *options, str(corpus), str(FOLDER / "seeds")]
    asan = "detect_leaks=0:malloc_context_size=0:quarantine_size_mb=4"
    return subprocess.run(command, env={**os.environ, "ASAN_OPTIONS": asan}).returncode


def print_coverage() -> None:
    """Print lines and branches of the core that the stored inputs reach."""
    flags = ("-O1", "-fprofile-instr-generate", "-fcoverage-mapping")
    compile_target("covered", flags, ())
    profile, raw = FOLDER / "fuzz.profdata", FOLDER / "fuzz.profraw"
    program = str(FOLDER / "covered")
    inputs = [str(FOLDER / "corpus"), str(FOLDER / "seeds")]
    env = {**os.environ, "LLVM_PROFILE_FILE": str(raw)}
    subprocess.run([program, "-runs=0", *inputs], env=env, check=True)
    subprocess.run(
        ["llvm-profdata", "merge", "-sparse", str(raw), "-o", str(profile)], check=True
    )
    parts = [str(CORE / "predict"), str(CORE / "data" / "code_set.hpp")]
    report = ["llvm-cov", "report", program, f"-instr-profile={profile}"]
    subprocess.run([*report, "-show-branch-summary", *parts], check=True)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=0, help="0: no limit")
    parser.add_argument("--runs", type=int, default=-1, help="-1: no limit")
    parser.add_argument("--coverage", action="store_true", help="only print coverage")
    arguments = parser.parse_args()
    if arguments.coverage:
        print_coverage()
        return 0
    return fuzz(seconds=arguments.seconds, runs=arguments.runs)


if __name__ == "__main__":
    raise SystemExit(main())
