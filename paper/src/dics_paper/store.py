"""Results of fits in a file, so that they need not be repeated."""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Store:
    """A file with one line of JSON per finished fit.

    An entry has a `key`, which is a dictionary of everything that determines the
    result, and other fields. Lines are only appended, so a process that is stopped
    loses at most its last line. If several entries have the same key, the last one is
    used. Each line has a checksum; a line with a wrong checksum is ignored.

    Parameters
    ----------
    file : Path
        The file; it may not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "fits.jsonl")
    ...     store.keep({"data": "iris", "seed": 0}, accuracy=0.95)
    ...     Store(store.file).find({"data": "iris", "seed": 0})["accuracy"]
    0.95
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        self._ends_in_a_line = text == "" or text.endswith("\n")
        self._entries = {_as_text(entry["key"]): entry for entry in self._read(text)}

    def find(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the entry of a key, or None."""
        return self._entries.get(_as_text(key))

    def keep(self, key: Mapping[str, Any], **fields: Any) -> None:
        """Add an entry."""
        entry = {"key": key, **fields}
        line = json.dumps({**entry, "crc32": _checksum(entry)}, allow_nan=False) + "\n"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(line if self._ends_in_a_line else f"\n{line}")
        self._ends_in_a_line = True
        self._entries[_as_text(key)] = json.loads(json.dumps(entry))

    def entries(self) -> list[dict[str, Any]]:
        """Return all entries."""
        return list(self._entries.values())

    def _read(self, text: str) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(text.splitlines(), start=1):
            if not line:
                continue
            try:
                entry = _parsed(line)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                warnings.warn(
                    f"line {number} of {self.file} is broken ({error}); the fit will "
                    "be repeated.",
                    stacklevel=4,
                )
            else:
                yield entry


def _parsed(line: str) -> dict[str, Any]:
    """Return the entry of a line; raise an error if it is not valid."""
    entry: dict[str, Any] = json.loads(line, parse_constant=_reject)
    if not isinstance(entry["key"], dict):
        raise TypeError("the key is not a dictionary")
    checksum = entry.pop("crc32", None)  # lines of earlier versions have none
    if checksum is not None and checksum != _checksum(entry):
        raise ValueError("wrong checksum")
    return entry


def _reject(constant: str) -> float:
    raise ValueError(f"{constant} is not a valid result")


def _checksum(entry: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(entry, sort_keys=True).encode())


def _as_text(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)
