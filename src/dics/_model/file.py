"""Model files: a header in JSON and raw arrays, no code.

See docs/develop/model_file.md for the format.

Objects in a file belong to the classes that are listed here, and have exactly the
fields that are listed here. A file cannot refer to any other class.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import re
import secrets
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dics._boosting.losses import NumberLoss
from dics._boosting.plan import BoostingPlan
from dics._dictionary import Dictionary
from dics._estimator.base import TreesEstimator
from dics._growing.settings import TreePlan
from dics._input.categories import CategoricalFeature, Categories
from dics._input.category_pairs import CategoryPair
from dics._input.checks import Array
from dics._model.checks import BadModel
from dics._model.leaf_rows import LeafRows
from dics._model.trees import NODE, NodeSets, Trees
from dics._version import VERSION
from dics.boosting import CGBoostingClassifier, CGBoostingRegressor
from dics.candidates import (
    BaseCandidates,
    CentroidCandidates,
    QuantileCandidates,
)
from dics.forest import CGForestClassifier, CGForestRegressor
from dics.options import (
    GOSS,
    BoostingOptions,
    CategoricalOptions,
    ForestOptions,
    TreeOptions,
)
from dics.tree import CGTreeClassifier, CGTreeRegressor

MAGIC = b"\x89DICS\r\n\x1a"
FORMAT = 2
# Signature, format, CRC-32 of the header, length of the header.
PREFIX = struct.Struct("<8sIIQ")
ALIGNMENT = 64  # of arrays, so that they can be used in a mapped file
# Types of arrays: numbers, text, dates. Objects would need pickle, which can run code.
ARRAY_TYPE = re.compile(r"[<|][biufcUSmM][0-9]{1,7}(\[[0-9a-zA-Z]{1,8}\])?")
# Attributes of Python that a file must not set, such as __class__, do not match.
ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]*")

# Classes that are stored by their parameters and fitted attributes.
ESTIMATORS = {
    cls.__name__: cls
    for cls in (
        CGTreeClassifier,
        CGTreeRegressor,
        CGForestClassifier,
        CGForestRegressor,
        CGBoostingClassifier,
        CGBoostingRegressor,
        CentroidCandidates,
        QuantileCandidates,
        CategoricalOptions,
        GOSS,
        TreeOptions,
        ForestOptions,
        BoostingOptions,
    )
}
# Attributes that only `estimators_samples_` needs. Weights are as long as the training
# data, and a small file with a large number of rows would fill the memory. Requests of
# metadata routing, such as `set_fit_request`, belong to the program that fits.
NOT_STORED = {
    "_n_rows",
    "_sample_size",
    "_sampling_weights",
    "_metadata_request",
    "_n_drawn",  # their names in format 1
    "_draw_weights",
}
MODELS = tuple(cls for cls in ESTIMATORS.values() if issubclass(cls, TreesEstimator))

# Exactly these, because other attributes could replace methods of the loss.
LOSS_FIELDS = {"name", "levels", "alpha", "n_outputs", "centre", "unit", "start"}
# Current names of the parameters of format 1.
RENAMED = {
    "centroids": "centroid_source",
    "scale": "standardize",
    "fill": "fill_quantiles",
    "max_thresholds": "max_bins",
    "min_sum_hessian": "min_child_weight",
    "alpha": "advanced__huber_quantile",
    "cat_smooth": "categorical__smooth",
    "cat_l2": "categorical__l2",
    "min_cat_samples": "categorical__min_samples",
    "max_cat_levels": "categorical__max_categories",
    "cat_pairs": "categorical__pairs",
    **{
        name: f"advanced__{name}"
        for group in (TreeOptions, ForestOptions, BoostingOptions)
        for name in group().get_params()
    },
}
# Defaults of format 1.
GOSS_RATES = {"top_rate": 0.2, "other_rate": 0.1}
# Format 1 stored thresholds in single precision. Columns that this would have merged
# were replaced by ranks; `WideColumns` maps their thresholds to values.
NODE_1 = np.dtype(
    [("feature", "<i4"), ("threshold", "<f4"), ("left", "<i4"), ("n_samples", "<i4")]
)
# Current names of the classes of format 1.
RENAMED_CLASSES = {
    "FastCGBMClassifier": "CGBoostingClassifier",
    "FastCGBMRegressor": "CGBoostingRegressor",
    "CategoryColumn": "CategoricalFeature",
}


class Kind(NamedTuple):
    """Conversion of an object to fields, and of fields to an object."""

    cls: type
    make: Callable[..., Any]
    fields: Callable[[Any], dict[str, Any]] = lambda value: dict(vars(value))


def _as_nodes(words: Array, dtype: np.dtype[Any]) -> Array:
    """Return the nodes that a file stores as four 32-bit words each."""
    if words.dtype != np.int32 or words.ndim != 2 or words.shape[1] != 4:
        raise BadModel("nodes have the wrong shape.")
    nodes: Array = words.view(dtype)[:, 0]
    return nodes


def _loss_of(**fields: Any) -> NumberLoss:
    if set(fields) != LOSS_FIELDS:
        raise BadModel(f"the loss has unexpected fields: {sorted(fields)}.")
    loss = NumberLoss.__new__(NumberLoss)  # __init__ would need the training targets
    vars(loss).update(fields)
    return loss


def _plan_of(**fields: Any) -> BoostingPlan:
    # Fields of format 1.
    for name in ("prefers_gains", "n_trial_rounds"):
        fields.pop(name, None)
    if "max_thresholds" in fields:
        n = fields.pop("max_thresholds")
        fields["max_bins"] = None if n is None else n + 1
    return BoostingPlan(**fields)


KINDS = {
    "Trees": Kind(
        Trees,
        lambda nodes, **fields: Trees(nodes=_as_nodes(nodes, NODE), **fields),
        lambda trees: {
            # Trees without categories have the same file as before categories existed.
            **{k: v for k, v in vars(trees).items() if k != "sets" or v is not None},
            "nodes": trees.nodes.view(np.int32).reshape(-1, 4),
        },
    ),
    "BoostingPlan": Kind(BoostingPlan, _plan_of),
    "TreePlan": Kind(TreePlan, TreePlan),
    "Dictionary": Kind(Dictionary, Dictionary, lambda d: d._asdict()),
    "NumberLoss": Kind(NumberLoss, _loss_of),
    "Categories": Kind(Categories, Categories, Categories.__getstate__),
    "CategoricalFeature": Kind(CategoricalFeature, CategoricalFeature),
    "CategoryPair": Kind(CategoryPair, CategoryPair),
    "NodeSets": Kind(NodeSets, NodeSets),
    "LeafRows": Kind(
        LeafRows, LeafRows, lambda leaf: {"rows": leaf.rows, "counts": leaf.counts}
    ),
}


# --- files of format 1 ---------------------------------------------------------------


def _current_parameters(cls: Any, stored: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a file by their current names, without defaults."""
    known = cls().get_params(deep=False)
    if "splitter" in known:
        stored = {"splitter": "best", **stored}
    if known.keys() >= stored.keys():
        return stored
    found = {k if k in known else RENAMED.get(k, k): v for k, v in stored.items()}
    if found.get("max_bins", "auto") != "auto":
        found["max_bins"] += 1  # format 1 stored the number of thresholds
    rates = {k: found.pop(k, "auto") for k in GOSS_RATES}
    rates = {k: rate for k, rate in rates.items() if rate != "auto"}
    if rates and found["sampling"] == "goss":
        found["sampling"] = GOSS(**rates)
    elif rates and found["sampling"] is not None:
        found["subsample"] = min(1.0, sum({**GOSS_RATES, **rates}.values()))
    # A nested parameter creates its options object: the default needs none.
    for name in [name for name in found if "__" in name]:
        outer, _, inner = name.partition("__")
        options = CategoricalOptions if outer == "categorical" else cls._options_class
        default = getattr(options(), inner)
        if name == "categorical__min_samples":
            default = cls._min_category_samples
        if found[name] == default:
            del found[name]
    return found


class WideColumns(NamedTuple):
    """Thresholds of columns that format 1 replaced by ranks, by column and rank."""

    columns: Array
    ranks: Array
    values: Array


def _thresholds_1(feature: Array, threshold: Array, wide: WideColumns | None) -> Array:
    """Convert thresholds of format 1, also those of ranks, to thresholds of X."""
    values: Array = threshold.astype(np.float64)
    if wide is None:
        return values
    for f in np.unique(wide.columns):
        rows = wide.columns == f
        here = (feature == f) & np.isfinite(threshold)
        place = np.searchsorted(wide.ranks[rows], threshold[here])
        values[here] = wide.values[rows][np.minimum(place, rows.sum() - 1)]
    return values


def _trees_of_1(nodes: Array, wide: WideColumns | None = None, **fields: Any) -> Trees:
    old = _as_nodes(nodes, NODE_1)
    new = np.empty(len(old), dtype=NODE)
    new["feature"], new["left"] = old["feature"], old["left"]
    new["threshold"] = _thresholds_1(old["feature"], old["threshold"], wide)
    return Trees(nodes=new, n_samples=old["n_samples"].copy(), **fields)


def _update_candidates(attributes: dict[str, Any]) -> None:
    """Convert the thresholds of a `BaseCandidates` object of format 1."""
    wide = attributes.pop("_wide", None)
    old = attributes.get("_dictionary")
    if not isinstance(old, Dictionary):
        return
    columns = np.repeat(np.arange(len(old.offsets) - 1), np.diff(old.offsets))
    values = _thresholds_1(columns, old.values, wide)
    parts = [np.unique(part) for part in old._replace(values=values).by_feature()]
    new = Dictionary.of(parts, renewable=old.renewable)
    attributes |= {"_dictionary": new, "n_thresholds_": np.diff(new.offsets)}


KINDS_1 = {
    **KINDS,
    "CategoricalFeature": KINDS["CategoricalFeature"]._replace(
        make=lambda levels, **fields: CategoricalFeature(categories=levels, **fields)
    ),
    "Trees": KINDS["Trees"]._replace(make=_trees_of_1),
    "WideColumns": Kind(WideColumns, WideColumns),
}


# --- to plain data ------------------------------------------------------------------


@dataclass
class Packer:
    """Converts a model to JSON and arrays."""

    arrays: list[Array] = field(default_factory=list)

    def pack(self, value: Any, where: str) -> Any:
        """Return the JSON of a value; arrays are collected in `self.arrays`."""
        # Scalars of NumPy, such as np.True_, are stored as those of Python.
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            # JSON has no NaN and no infinities.
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._pack_array(value, where)
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.pack(value.get_state(legacy=True), where)}
        # Not isinstance: a subclass may have other fields.
        for name, kind in KINDS.items():
            if type(value) is kind.cls:
                return {
                    "object": name,
                    "fields": self._pack_fields(kind.fields(value), where),
                }
        if type(value) in ESTIMATORS.values():
            return self._pack_estimator(value, where)
        if isinstance(value, dict):
            # A list of pairs, because keys of JSON objects are always text.
            items = [
                [self.pack(k, where), self.pack(v, f"{where}[{k!r}]")]
                for k, v in value.items()
            ]
            return {"dict": items}
        if isinstance(value, set | frozenset):
            # Equal sets may have another order, and equal models have equal files.
            items = [self.pack(v, where) for v in sorted(value, key=repr)]
            return {"set": items}
        for name, cls in (("list", list), ("tuple", tuple)):
            if isinstance(value, cls):
                return {
                    name: [self.pack(v, f"{where}[{i}]") for i, v in enumerate(value)]
                }
        raise ValueError(
            f"{where} is {value!r}, which model files do not support: they store "
            "numbers, text and arrays, but no code. Use another value in `fit`, or "
            "pickle the model."
        )

    def _pack_array(self, array: Array, where: str) -> Any:
        if array.dtype == object:
            items = [self.pack(v, f"{where}[{i}]") for i, v in enumerate(array.ravel())]
            return {"objects": items, "shape": list(array.shape)}
        # Little endian on all machines.
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if not ARRAY_TYPE.fullmatch(little.dtype.str):
            raise ValueError(
                f"{where} has dtype {array.dtype}, which model files do not support."
            )
        # ascontiguousarray turns a scalar array into a vector.
        self.arrays.append(little.reshape(array.shape))
        return {"array": len(self.arrays) - 1}

    def _pack_fields(self, fields: dict[str, Any], where: str) -> dict[str, Any]:
        return {name: self.pack(v, f"{where}.{name}") for name, v in fields.items()}

    def _pack_estimator(self, estimator: Any, where: str) -> dict[str, Any]:
        # The constructor of a later version may have more parameters, with defaults.
        parameters = estimator.get_params(deep=False)
        attributes = {
            name: value
            for name, value in vars(estimator).items()
            if name not in parameters and name not in NOT_STORED
        }
        return {
            "object": type(estimator).__name__,
            "parameters": self._pack_fields(parameters, where),
            "attributes": self._pack_fields(attributes, where),
        }


# --- from plain data ----------------------------------------------------------------


@dataclass
class Unpacker:
    """Reconstructs a model from the header and the arrays of a file."""

    arrays: list[Array]
    version: int

    def unpack(self, value: Any) -> Any:
        """Return the value that a part of the header describes."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if not isinstance(value, dict):
            raise BadModel(f"the header has an unexpected {type(value).__name__}.")
        if "object" in value:
            return self._unpack_object(value)
        if set(value) == {"objects", "shape"}:
            items = [self.unpack(item) for item in value["objects"]]
            # Filled in two steps: np.array would turn nested lists into more axes.
            array = np.empty(len(items), dtype=object)
            array[:] = items
            return array.reshape(value["shape"])
        if len(value) != 1:
            raise BadModel(f"the header has an entry with keys {sorted(value)}.")
        ((name, content),) = value.items()
        if name == "float" and content in ("nan", "inf", "-inf"):
            return float(content)
        # type() instead of isinstance: True would be a valid index.
        if name == "array" and type(content) is int and 0 <= content < len(self.arrays):
            return self.arrays[content]
        if name == "dict" and isinstance(content, list):
            return {self.unpack(k): self.unpack(v) for k, v in content}
        if name in ("list", "tuple", "set") and isinstance(content, list):
            items = [self.unpack(item) for item in content]
            return {"list": list, "tuple": tuple, "set": set}[name](items)
        if name == "random_state":
            return _random_state(*self.unpack(content))
        raise BadModel(f"the header has an unknown entry {name!r}.")

    def _unpack_object(self, value: dict[str, Any]) -> Any:
        # Both tables are closed lists: no name in a file reaches another class.
        kinds = KINDS_1 if self.version == 1 else KINDS
        name = value["object"]
        if self.version == 1:
            name = RENAMED_CLASSES.get(name, name)
        if set(value) == {"object", "fields"} and name in kinds:
            return kinds[name].make(
                **{k: self.unpack(v) for k, v in value["fields"].items()}
            )
        if set(value) == {"object", "parameters", "attributes"} and name in ESTIMATORS:
            return self._unpack_estimator(ESTIMATORS[name], value)
        raise BadModel(f"model files cannot contain {name!r} objects.")

    def _unpack_estimator(self, cls: type, value: dict[str, Any]) -> Any:
        stored = {k: self.unpack(v) for k, v in value["parameters"].items()}
        # Created by the constructor and `set_params`, as `clone` does.
        estimator: Any = cls()
        estimator.set_params(**_current_parameters(cls, stored))
        parameters = estimator.get_params(deep=False)
        attributes = {k: self.unpack(v) for k, v in value["attributes"].items()}
        if self.version == 1 and issubclass(cls, BaseCandidates):
            _update_candidates(attributes)
        for name, content in attributes.items():
            # An attribute must not replace a method, a property or a parameter.
            of_class = getattr(cls, name, None)
            if (
                not ATTRIBUTE.fullmatch(name)
                or name in parameters
                or callable(of_class)
                or isinstance(of_class, property)
            ):
                raise BadModel(f"{cls.__name__} has no attribute {name!r}.")
            vars(estimator)[name] = content
        return estimator


def _random_state(
    kind: str, key: Array, position: int, has_gauss: int, gauss: float
) -> np.random.RandomState:
    # NumPy does not validate the state, and would read outside of `key`.
    if key.dtype != np.uint32 or key.shape != (624,) or not 0 <= position <= 624:
        raise BadModel("a random state is out of range.")
    state = np.random.RandomState()
    state.set_state((kind, key, position, has_gauss, gauss))
    return state


# --- files --------------------------------------------------------------------------


def write_model(model: Any, path: Any) -> None:
    """Write a model to a path or a binary file; see `TreesEstimator.save`."""
    # Not isinstance: a file would lose the code of a subclass.
    if type(model) not in MODELS:
        raise TypeError(
            f"{type(model).__name__} cannot be saved; model files store one of "
            f"{', '.join(cls.__name__ for cls in MODELS)}."
        )
    check_is_fitted(model, "trees_")
    packer = Packer()
    content = packer.pack(model, type(model).__name__)
    buffers = [array.reshape(-1).view(np.uint8).data for array in packer.arrays]
    described: list[dict[str, Any]] = []
    offset = 0
    for array, buffer in zip(packer.arrays, buffers, strict=True):
        offset = _aligned(offset)
        described.append(
            {
                "type": array.dtype.str,
                "shape": list(array.shape),
                "offset": offset,
                "crc32": zlib.crc32(buffer),
            }
        )
        offset += array.nbytes
    header = json.dumps(
        # Offsets count from the end of the header, whose length depends on them.
        {"dics": VERSION, "model": content, "arrays": described},
        allow_nan=False,
    ).encode()
    prefix = PREFIX.pack(MAGIC, FORMAT, zlib.crc32(header), len(header))
    with _open_to_write(path) as file:
        file.write(prefix + header)
        written = len(prefix) + len(header)
        start = _aligned(written)
        for buffer, entry in zip(buffers, described, strict=True):
            position = start + entry["offset"]
            file.write(b"\0" * (position - written))
            file.write(buffer)
            written = position + len(buffer)


def load(path: Any, *, mmap_mode: str | None = None) -> Any:
    """Read a model from a file that `save` has written.

    The whole file is validated before use and never executes code, so untrusted model
    files are safe to load. An invalid file raises a ValueError.

    Parameters
    ----------
    path : str, path-like or binary file
        File to read. The usual extension is ".dics".
    mmap_mode : {"r"} or None, default=None
        "r" maps the file into memory instead of reading it, so that several processes
        share its arrays. It requires `path` to be a path.

    Returns
    -------
    model : estimator
        The fitted model.

    Raises
    ------
    ValueError
        If the file is not a valid model file, or if `mmap_mode` is not valid.

    See Also
    --------
    CGBoostingClassifier.save : Write the model file.

    Examples
    --------
    >>> import io
    >>> import dics
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> file = io.BytesIO()
    >>> dics.CGBoostingClassifier(n_estimators=10, random_state=0).fit(X, y).save(file)
    >>> _ = file.seek(0)
    >>> dics.load(file).n_iter_
    10
    """
    if mmap_mode not in (None, "r"):
        raise ValueError(f"mmap_mode must be None or 'r', got {mmap_mode!r}.")
    name = path if isinstance(path, str | os.PathLike) else "the file"
    content = _read(path, mapped=mmap_mode == "r")
    try:
        return _load(memoryview(content))
    except MemoryError:
        raise  # not the fault of the file
    except BadModel as error:
        raise ValueError(f"Cannot load {name}: {error}") from error
    except Exception as error:  # a hostile header can raise anything
        raise ValueError(
            f"Cannot load {name}: the file is corrupted "
            f"({type(error).__name__}: {error})."
        ) from error


def _load(content: memoryview) -> Any:
    # Cheap checks come first: nothing is allocated for other files.
    if len(content) < PREFIX.size:
        raise BadModel(f"the file has only {len(content)} bytes.")
    magic, version, crc, length = PREFIX.unpack(content[: PREFIX.size])
    if magic != MAGIC:
        raise BadModel("it is not a dics model file (wrong signature).")
    if version > FORMAT:
        raise BadModel(
            f"it was written by a newer version of dics (format {version}; dics "
            f"{VERSION} reads up to {FORMAT}). Upgrade dics."
        )
    end = PREFIX.size + length
    if end > len(content):
        raise BadModel("the file is truncated.")
    text = content[PREFIX.size : end]
    if zlib.crc32(text) != crc:
        raise BadModel("header checksum mismatch: the file is corrupted.")
    header = json.loads(bytes(text))
    body = content[min(_aligned(end), len(content)) :]
    arrays = [_array(entry, body) for entry in header["arrays"]]
    used = max((_end(entry) for entry in header["arrays"]), default=0)
    if len(body) > used:
        raise BadModel(f"the file has {len(body) - used} bytes after its end.")
    model = Unpacker(arrays, version).unpack(header["model"])
    if type(model) not in MODELS:
        raise BadModel(f"it contains a {type(model).__name__}, not a model.")
    for name in NOT_STORED:  # older files have them
        vars(model).pop(name, None)
    # The core trusts indices of a model: see `_model/checks.py`.
    model._check_model()
    return model


def _array(entry: dict[str, Any], body: memoryview) -> Array:
    """Return an array as a view of the file."""
    if not ARRAY_TYPE.fullmatch(entry["type"]):
        raise BadModel(f"an array has the unsupported type {entry['type']!r}.")
    dtype = np.dtype(entry["type"])
    shape, offset = entry["shape"], entry["offset"]
    if not all(type(n) is int and n >= 0 for n in (*shape, offset)) or len(shape) > 8:
        raise BadModel(f"an array has shape {shape} and offset {offset}.")
    if offset % ALIGNMENT or _end(entry) > len(body):
        raise BadModel("an array exceeds the file: it is truncated.")
    part = body[offset : _end(entry)]
    if zlib.crc32(part) != entry["crc32"]:
        raise BadModel("array checksum mismatch: the file is corrupted.")
    # NumPy rejects empty buffers.
    if math.prod(shape) == 0:
        return np.empty(shape, dtype=dtype)
    # A view: the file is not copied.
    array = np.frombuffer(part, dtype=dtype).reshape(shape)
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def _end(entry: dict[str, Any]) -> int:
    """Return the end of an array in the file, after the header."""
    size = math.prod(entry["shape"]) * np.dtype(entry["type"]).itemsize
    return int(entry["offset"] + size)


def _read(path: Any, *, mapped: bool) -> Any:
    if not isinstance(path, str | os.PathLike):
        if mapped:
            raise ValueError("mmap_mode='r' requires a path, got a file object.")
        return bytearray(path.read())
    with Path(path).open("rb") as file:
        # An empty file cannot be mapped.
        if mapped and os.fstat(file.fileno()).st_size > 0:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return bytearray(file.read())  # not bytes: arrays of a model must be writable


@contextlib.contextmanager
def _open_to_write(path: Any) -> Iterator[BinaryIO]:
    """Open a temporary file that is renamed to `path` once it is complete."""
    if not isinstance(path, str | os.PathLike):
        yield path
        return
    target = Path(path).resolve()  # a link stays, and its file is replaced
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot save {path}: the folder {target.parent} does not exist."
        )
    if target.exists() and not target.is_file():
        raise ValueError(
            f"Cannot save {path}: it is a folder or a device, not a regular file."
        )
    # In the same folder, so that the final rename is atomic.
    new = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with new.open("xb") as file:
            if target.exists():  # a private file stays private
                new.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
        new.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
