"""Builds of two revisions in the same way, and processes that use them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from against_rows import TaskFailed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORKER = HERE / "against_worker.py"
# Environment variables that a build depends on.
BUILD_VARIABLES = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS")


class SideEnded(TaskFailed):
    """A worker process ended unexpectedly; the message has its last line."""


class BuildFailed(Exception):
    """A revision could not be built; the message has the output of pip."""


# --- sources ---------------------------------------------------------------


class Sources(NamedTuple):
    """Copy of the files of a revision, and its title."""

    title: str
    folder: Path


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise BuildFailed(f"git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def copy_revision(revision: str, folder: Path) -> Sources:
    """Copy the files of a commit."""
    commit = git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
        archive.extractall(folder, filter="data")
    return Sources(describe_commit(commit), folder)


def copy_working_tree(folder: Path) -> Sources:
    """Copy the files of the working tree that are tracked or would be added."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in sorted(set(filter(None, listed.decode().split("\0")))):
        if (ROOT / name).is_file():  # a tracked file may be deleted
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    changed = " with changes" if git("status", "--porcelain").strip() else ""
    return Sources(f"{describe_commit('HEAD')}{changed}", folder)


def describe_commit(commit: str) -> str:
    return git("log", "-1", "--format=%h (%s)", commit).decode().strip()


def key_of(folder: Path) -> str:
    """Return a digest of the sources, the interpreter and the compiler settings."""
    settings = [sys.version, *(os.environ.get(name) for name in BUILD_VARIABLES)]
    hashed = hashlib.sha256(json.dumps(settings).encode())
    files = [folder / "pyproject.toml", folder / "CMakeLists.txt"]
    files += (folder / "src").rglob("*")
    for file in sorted(file for file in files if file.is_file()):
        hashed.update(f"\n{file.relative_to(folder)}\n".encode())
        hashed.update(file.read_bytes())
    return hashed.hexdigest()[:16]


# --- builds ----------------------------------------------------------------


class Build(NamedTuple):
    """Package installed in its own folder."""

    title: str
    key: str
    site: Path


@contextmanager
def folder_for_builds(keep: Path | None) -> Iterator[Path]:
    """Yield the folder for builds: `keep`, or one that is removed at the end."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with TemporaryDirectory(prefix="dics_against_") as folder:
        yield Path(folder)


def build(revision: str | None, builds: Path) -> Build:
    """Build a revision, or the working tree, unless the build exists."""
    with TemporaryDirectory(prefix="dics_sources_") as folder:
        copy = Path(folder)
        sources = copy_revision(revision, copy) if revision else copy_working_tree(copy)
        key = key_of(sources.folder)
        finished = builds / key
        if not finished.is_dir():
            with TemporaryDirectory(prefix="unfinished_", dir=builds) as unfinished:
                site = Path(unfinished) / "site"
                install(sources.folder, site, Path(unfinished) / "cmake")
                site.rename(finished)
        return Build(sources.title, key, finished)


def install(sources: Path, site: Path, build_folder: Path) -> None:
    """Install only the package; its dependencies are those of this environment."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
    command += ["--quiet", "--no-deps", "--no-build-isolation"]
    command += ["--check-build-dependencies", "--target", str(site)]
    command += [f"--config-settings=build-dir={build_folder}", str(sources)]
    output, code = run_group(command)
    if code:
        raise BuildFailed(output.strip())


def run_group(command: list[str]) -> tuple[str, int]:
    """Run a command; end its child processes if this process is interrupted."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    return output, process.returncode


# --- processes -------------------------------------------------------------


class Side:
    """Worker process that uses one build; its stderr goes to a log file."""

    def __init__(self, name: str, site: Path, log: Path) -> None:
        self.name = name
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                # -S: the import hook of an editable installation would win over
                # PYTHONPATH. -P: do not import from the folder of the script.
                [sys.executable, "-S", "-P", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                env=worker_environment(site, os.environ),
                start_new_session=True,  # Ctrl-C is for the parent only
            )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SideEnded(
                f"{self.name}: the process has ended. {self._describe_end()}"
            )
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise TaskFailed(f"{self.name}: {reply['error']}")
        return reply

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _describe_end(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return f"code {self._process.wait()}; {lines[-1] if lines else 'no output'}"


class Sides:
    """The two processes; `restart` starts new ones, `load` loads a data set."""

    def __init__(self, old: Build, new: Build, logs: Path) -> None:
        self._builds = {"old": old, "new": new}
        self._logs = logs
        self._running: dict[str, Side] = {}
        self.versions: dict[str, str] = {}

    def __enter__(self) -> Sides:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self._running:
            self._running.popitem()[1].close()

    def restart(self) -> None:
        """Start new processes: the memory layout can change times by some percent."""
        self.close()
        for name, build in self._builds.items():
            self._running[name] = Side(name, build.site, self._logs / f"{name}.log")
        versions = [self._check(name) for name in self._builds]
        if versions[0] != versions[1]:
            raise BuildFailed(f"The two sides use different versions: {versions}.")
        self.versions = versions[0]

    def _check(self, name: str) -> dict[str, str]:
        versions = self._running[name].ask(do="describe")
        used, site = Path(versions.pop("dics")), self._builds[name].site
        if not used.is_relative_to(site):
            raise BuildFailed(
                f"The side {name} imports {used.parent} instead of {site}."
            )
        return versions

    def load(self, data: str) -> dict[str, Any]:
        """Load a data set on both sides; return its shape, or why it is missing."""
        replies = [side.ask(do="load", data=data) for side in self._running.values()]
        return replies[0]

    def old(self, **request: Any) -> dict[str, Any]:
        return self._running["old"].ask(**request)

    def new(self, **request: Any) -> dict[str, Any]:
        return self._running["new"].ask(**request)


def worker_environment(site: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that imports one build, the rest as in this process."""
    paths = [str(site), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
