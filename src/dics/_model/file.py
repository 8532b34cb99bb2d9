"""Model files: a header of JSON and raw arrays, no code. docs/model_file.md has it all.

What is not plain data is an object of a class that is listed here, with exactly the
fields that are listed here; nothing in a file can name any other class.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import re
import secrets
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dics._boosting.losses import NumberLoss
from dics._boosting.plan import BoostingPlan
from dics._dictionary import Dictionary
from dics._estimator.base import TreesEstimator
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
# Magic, format, CRC-32 of the header, its length.
PREFIX = struct.Struct("<8sIIQ")
ALIGNMENT = 64  # of arrays, so that they can be used where they lie
# Types of arrays: numbers, text, dates. Structured ones and objects are not among them.
ARRAY_TYPE = re.compile(r"[<|][biufcUSmM][0-9]{1,7}(\[[0-9a-zA-Z]{1,8}\])?")
ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]*")

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
# What grows with the training rows and no prediction needs; see `estimators_samples_`.
PER_ROW = {"_draw_weights"}
MODELS = tuple(cls for cls in ESTIMATORS.values() if issubclass(cls, TreesEstimator))

# What a loss consists of.
LOSS_FIELDS = {"name", "levels", "alpha", "n_outputs", "centre", "unit", "start"}
# Parameters of format 1 by the names that `set_params` has for them now.
RENAMED = {
    "centroids": "centroid_source",
    "scale": "standardize",
    "fill": "fill_quantiles",
    "max_thresholds": "max_bins",
    "min_sum_hessian": "min_child_weight",
    "alpha": "huber_quantile",
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
GOSS_RATES = {"top_rate": 0.2, "other_rate": 0.1}
# Thresholds were in single precision there. Columns that this would have merged were
# ranks: a table had their thresholds among the ranks and among the values.
NODE_1 = np.dtype(
    [("feature", "<i4"), ("threshold", "<f4"), ("left", "<i4"), ("n_samples", "<i4")]
)
# New names of classes that had others.
RENAMED_CLASSES = {
    "FastCGBMClassifier": "CGBoostingClassifier",
    "FastCGBMRegressor": "CGBoostingRegressor",
    "CategoryColumn": "CategoricalFeature",
}


class Kind(NamedTuple):
    """How an object becomes fields, and fields become an object."""

    cls: type
    fields: Callable[[Any], dict[str, Any]]
    make: Callable[..., Any]


def _trees_of(nodes: Array, **fields: Any) -> Trees:
    return Trees(nodes=_as_nodes(nodes, NODE), **fields)


def _as_nodes(words: Array, dtype: np.dtype[Any]) -> Array:
    """Return the nodes that arrays of four 32-bit words stand for."""
    if words.dtype != np.int32 or words.ndim != 2 or words.shape[1] != 4:
        raise BadModel("nodes have the wrong shape.")
    nodes: Array = words.view(dtype)[:, 0]
    return nodes


def _loss_of(**fields: Any) -> NumberLoss:
    loss = NumberLoss.__new__(NumberLoss)
    vars(loss).update(fields)
    return loss


def _plan_of(**fields: Any) -> BoostingPlan:
    fields.pop("prefers_gains", None)  # of format 1, a rule that is gone
    if "max_thresholds" in fields:
        n = fields.pop("max_thresholds")
        fields["max_bins"] = None if n is None else n + 1
    return BoostingPlan(**fields)


KINDS = {
    "Trees": Kind(
        Trees,
        lambda trees: {
            # Trees without categories are written as they were before there were any.
            **{k: v for k, v in vars(trees).items() if k != "sets" or v is not None},
            "nodes": trees.nodes.view(np.int32).reshape(-1, 4),
        },
        _trees_of,
    ),
    "BoostingPlan": Kind(BoostingPlan, lambda plan: dict(vars(plan)), _plan_of),
    "Dictionary": Kind(Dictionary, lambda d: d._asdict(), Dictionary),
    "NumberLoss": Kind(NumberLoss, lambda loss: dict(vars(loss)), _loss_of),
    "Categories": Kind(Categories, lambda found: dict(vars(found)), Categories),
    "CategoricalFeature": Kind(
        CategoricalFeature, lambda c: dict(vars(c)), CategoricalFeature
    ),
    "CategoryPair": Kind(CategoryPair, lambda pair: dict(vars(pair)), CategoryPair),
    "NodeSets": Kind(NodeSets, lambda sets: dict(vars(sets)), NodeSets),
    "LeafRows": Kind(
        LeafRows, lambda leaf: {"rows": leaf.rows, "counts": leaf.counts}, LeafRows
    ),
}


# --- files of format 1 ---------------------------------------------------------------


def _of_now(cls: Any, stored: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of a file by their names of now, without default options."""
    own = cls().get_params(deep=False)
    if own.keys() >= stored.keys():
        return stored
    found = {k if k in own else RENAMED.get(k, k): v for k, v in stored.items()}
    if found.get("max_bins", "auto") != "auto":
        found["max_bins"] += 1  # it was the number of thresholds
    rates = {k: found.pop(k, "auto") for k in GOSS_RATES}
    rates = {k: rate for k, rate in rates.items() if rate != "auto"}
    if rates and found["sampling"] == "goss":
        found["sampling"] = GOSS(**rates)
    elif rates and found["sampling"] is not None:
        found["subsample"] = min(1.0, sum({**GOSS_RATES, **rates}.values()))
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
    """Thresholds of columns that were ranks, by column and rank."""

    columns: Array
    ranks: Array
    values: Array


def _thresholds_1(feature: Array, threshold: Array, wide: WideColumns | None) -> Array:
    """Return thresholds of single precision, or among ranks, as they are among X."""
    values: Array = threshold.astype(np.float64)
    if wide is None:
        return values
    for f in np.unique(wide.columns):
        own = wide.columns == f
        here = (feature == f) & np.isfinite(threshold)
        place = np.searchsorted(wide.ranks[own], threshold[here])
        values[here] = wide.values[own][np.minimum(place, own.sum() - 1)]
    return values


def _trees_of_1(nodes: Array, wide: WideColumns | None = None, **fields: Any) -> Trees:
    old = _as_nodes(nodes, NODE_1)
    new = np.empty(len(old), dtype=NODE)
    new["feature"], new["left"] = old["feature"], old["left"]
    new["threshold"] = _thresholds_1(old["feature"], old["threshold"], wide)
    return Trees(nodes=new, n_samples=old["n_samples"].copy(), **fields)


def _update_candidates(attributes: dict[str, Any]) -> None:
    """Replace the thresholds of a source of thresholds."""
    wide = attributes.pop("_wide", None)
    old = attributes.get("_dictionary")
    if not isinstance(old, Dictionary):
        return
    columns = np.repeat(np.arange(len(old.offsets) - 1), np.diff(old.offsets))
    values = _thresholds_1(columns, old.values, wide)
    parts = [np.unique(part) for part in np.split(values, old.offsets[1:-1])]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    attributes["_dictionary"] = old._replace(
        values=np.concatenate(parts), offsets=offsets
    )
    attributes["n_thresholds_"] = np.diff(offsets)


def _categorical_feature_1(levels: Array, **fields: Any) -> CategoricalFeature:
    return CategoricalFeature(categories=levels, **fields)


KINDS_1 = {
    **KINDS,
    "CategoricalFeature": KINDS["CategoricalFeature"]._replace(
        make=_categorical_feature_1
    ),
    "Trees": KINDS["Trees"]._replace(make=_trees_of_1),
    "WideColumns": Kind(WideColumns, lambda wide: wide._asdict(), WideColumns),
}


# --- to plain data ------------------------------------------------------------------


class Packer:
    """Turns a model into JSON and arrays."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []

    def pack(self, value: Any, where: str) -> Any:
        """Return what stands for a value in the header; arrays are put aside."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._pack_array(value, where)
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.pack(value.get_state(legacy=True), where)}
        for name, kind in KINDS.items():
            if type(value) is kind.cls:
                return {
                    "object": name,
                    "fields": self._pack_fields(kind.fields(value), where),
                }
        if type(value) in ESTIMATORS.values():
            return self._pack_estimator(value, where)
        if isinstance(value, dict):
            items = [
                [self.pack(k, where), self.pack(v, f"{where}[{k!r}]")]
                for k, v in value.items()
            ]
            return {"dict": items}
        for name, cls in (("list", list), ("tuple", tuple), ("set", set | frozenset)):
            if isinstance(value, cls):
                return {
                    name: [self.pack(v, f"{where}[{i}]") for i, v in enumerate(value)]
                }
        raise ValueError(
            f"{where} is {value!r}, which a model file can't hold: it has numbers, "
            "text and arrays, and no code. Set it to something else before `fit`, or "
            "pickle the model."
        )

    def _pack_array(self, array: Array, where: str) -> Any:
        if array.dtype == object:
            items = [self.pack(v, f"{where}[{i}]") for i, v in enumerate(array.ravel())]
            return {"objects": items, "shape": list(array.shape)}
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if not ARRAY_TYPE.fullmatch(little.dtype.str):
            raise ValueError(
                f"{where} has the type {array.dtype}, no model file has it."
            )
        self.arrays.append(little.reshape(array.shape))
        return {"array": len(self.arrays) - 1}

    def _pack_fields(self, fields: dict[str, Any], where: str) -> dict[str, Any]:
        return {name: self.pack(v, f"{where}.{name}") for name, v in fields.items()}

    def _pack_estimator(self, estimator: Any, where: str) -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        attributes = {
            name: value
            for name, value in vars(estimator).items()
            if name not in parameters
            and not (name in PER_ROW and isinstance(value, np.ndarray))
        }
        return {
            "object": type(estimator).__name__,
            "parameters": self._pack_fields(parameters, where),
            "attributes": self._pack_fields(attributes, where),
        }


# --- from plain data ----------------------------------------------------------------


class Unpacker:
    """Makes a model of the header and the arrays of a file."""

    def __init__(self, arrays: list[Array], version: int) -> None:
        self.arrays = arrays
        self.version = version

    def unpack(self, value: Any) -> Any:
        """Return what a part of the header stands for."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if not isinstance(value, dict):
            raise BadModel(f"the header has a {type(value).__name__} out of place.")
        if "object" in value:
            return self._unpack_object(value)
        if set(value) == {"objects", "shape"}:
            return self._unpack_objects(value)
        if len(value) != 1:
            raise BadModel(f"the header has an entry of {sorted(value)}.")
        ((name, content),) = value.items()
        if name == "float" and content in ("nan", "inf", "-inf"):
            return float(content)
        if name == "array" and type(content) is int and 0 <= content < len(self.arrays):
            return self.arrays[content]
        if name in ("list", "tuple", "set", "dict") and isinstance(content, list):
            return self._unpack_items(name, content)
        if name == "random_state":
            return _random_state(*self.unpack(content))
        raise BadModel(f"the header has an entry {name!r} that means nothing.")

    def _unpack_items(self, name: str, content: list[Any]) -> Any:
        if name == "dict":
            return {self.unpack(k): self.unpack(v) for k, v in content}
        items = [self.unpack(item) for item in content]
        return {"list": list, "tuple": tuple, "set": set}[name](items)

    def _unpack_objects(self, value: dict[str, Any]) -> Array:
        items = [self.unpack(item) for item in value["objects"]]
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(value["shape"])

    def _unpack_object(self, value: dict[str, Any]) -> Any:
        kinds = KINDS_1 if self.version == 1 else KINDS
        name = value["object"]
        if self.version == 1:
            name = RENAMED_CLASSES.get(name, name)
        if set(value) == {"object", "fields"} and name in kinds:
            fields = {k: self.unpack(v) for k, v in value["fields"].items()}
            if name == "NumberLoss" and set(fields) != LOSS_FIELDS:
                raise BadModel("the loss has other fields.")
            return kinds[name].make(**fields)
        if set(value) == {"object", "parameters", "attributes"} and name in ESTIMATORS:
            return self._unpack_estimator(ESTIMATORS[name], value)
        raise BadModel(f"no {name!r} can be in a model file.")

    def _unpack_estimator(self, cls: type, value: dict[str, Any]) -> Any:
        stored = {k: self.unpack(v) for k, v in value["parameters"].items()}
        estimator: Any = cls()
        estimator.set_params(**_of_now(cls, stored))
        parameters = estimator.get_params(deep=False)
        attributes = {k: self.unpack(v) for k, v in value["attributes"].items()}
        if self.version == 1 and issubclass(cls, BaseCandidates):
            _update_candidates(attributes)
        for name, content in attributes.items():
            hidden = getattr(cls, name, None)
            if (
                not ATTRIBUTE.fullmatch(name)
                or name in parameters
                or callable(hidden)
                or isinstance(hidden, property)
            ):
                raise BadModel(f"{cls.__name__} has no attribute {name!r}.")
            vars(estimator)[name] = content
        return estimator


def _random_state(
    kind: str, key: Array, position: int, has_gauss: int, gauss: float
) -> np.random.RandomState:
    # NumPy believes what it is told.
    if key.dtype != np.uint32 or key.shape != (624,) or not 0 <= position <= 624:
        raise BadModel("a random state is out of range.")
    state = np.random.RandomState()
    state.set_state((kind, key, position, has_gauss, gauss))
    return state


# --- files --------------------------------------------------------------------------


def write_model(model: Any, path: Any) -> None:
    """Write a model to a path or a binary file; see `TreesEstimator.save`."""
    if type(model) not in MODELS:
        raise TypeError(
            f"{type(model).__name__} can't be saved; a model file holds one of "
            f"{', '.join(cls.__name__ for cls in MODELS)}."
        )
    packer = Packer()
    content = packer.pack(model, type(model).__name__)
    described: list[dict[str, Any]] = []
    offset = 0
    for array in packer.arrays:
        offset = _aligned(offset)
        described.append(
            {
                "type": array.dtype.str,
                "shape": list(array.shape),
                "offset": offset,
                "crc32": zlib.crc32(_bytes_of(array)),
            }
        )
        offset += array.nbytes
    header = json.dumps(
        {"dics": VERSION, "model": content, "arrays": described}, allow_nan=False
    ).encode()
    prefix = PREFIX.pack(MAGIC, FORMAT, zlib.crc32(header), len(header))
    with _open_to_write(path) as file:
        file.write(prefix + header)
        written = len(prefix) + len(header)
        start = _aligned(written)
        for array, entry in zip(packer.arrays, described, strict=True):
            position = start + entry["offset"]
            file.write(b"\0" * (position - written))
            file.write(_bytes_of(array))
            written = position + array.nbytes


def load(path: Any, *, mmap_mode: str | None = None) -> Any:
    """Read a model that `save` has written.

    No code of a file is run, and everything in it is checked before it is used: a
    damaged or hostile file is a ValueError.

    Parameters
    ----------
    path : str, path-like or binary file
    mmap_mode : {"r"} or None, default=None
        "r" leaves the arrays in the file and maps it into memory, so that several
        processes share it. `path` must be a path then.

    Returns
    -------
    model : estimator
        As it was when it was saved.

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
        raise
    except BadModel as error:
        raise ValueError(
            f"{name} is no dics model file, or damaged: {error}"
        ) from error
    except Exception as error:  # whatever a header may bring about
        raise ValueError(
            f"{name} is no dics model file, or damaged: {type(error).__name__}: {error}"
        ) from error


def _load(content: memoryview) -> Any:
    if len(content) < PREFIX.size:
        raise BadModel(f"it has only {len(content)} bytes.")
    magic, version, crc, length = PREFIX.unpack(content[: PREFIX.size])
    if magic != MAGIC:
        raise BadModel("it begins with something else.")
    if version > FORMAT:
        raise BadModel(f"it has format {version}; dics {VERSION} reads up to {FORMAT}.")
    end = PREFIX.size + length
    if end > len(content):
        raise BadModel("its header ends behind the file.")
    text = content[PREFIX.size : end]
    if zlib.crc32(text) != crc:
        raise BadModel("its header has another checksum.")
    header = json.loads(bytes(text))
    body = content[min(_aligned(end), len(content)) :]
    arrays = [_array(entry, body) for entry in header["arrays"]]
    model = Unpacker(arrays, version).unpack(header["model"])
    if type(model) not in MODELS:
        raise BadModel(f"it holds no model, but {type(model).__name__}.")
    model._check_model()
    return model


def _array(entry: dict[str, Any], body: memoryview) -> Array:
    """Return an array where it lies in the file."""
    if not ARRAY_TYPE.fullmatch(entry["type"]):
        raise BadModel(f"an array has the type {entry['type']!r}.")
    dtype = np.dtype(entry["type"])
    shape, offset = entry["shape"], entry["offset"]
    if not all(type(n) is int and n >= 0 for n in (*shape, offset)) or len(shape) > 8:
        raise BadModel(f"an array has the shape {shape} at {offset}.")
    size = math.prod(shape) * dtype.itemsize
    if offset % ALIGNMENT or offset + size > len(body):
        raise BadModel("an array lies outside the file.")
    part = body[offset : offset + size]
    if zlib.crc32(part) != entry["crc32"]:
        raise BadModel("an array has another checksum.")
    if math.prod(shape) == 0:
        return np.empty(shape, dtype=dtype)
    array = np.frombuffer(part, dtype=dtype).reshape(shape)
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def _read(path: Any, *, mapped: bool) -> Any:
    if not isinstance(path, str | os.PathLike):
        if mapped:
            raise ValueError("mmap_mode='r' needs a path.")
        return bytearray(path.read())
    with Path(path).open("rb") as file:
        if mapped and os.fstat(file.fileno()).st_size > 0:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return bytearray(file.read())  # arrays in it can be written to


@contextlib.contextmanager
def _open_to_write(path: Any) -> Iterator[BinaryIO]:
    """Open a file that takes its name when it is complete."""
    if not isinstance(path, str | os.PathLike):
        yield path
        return
    target = Path(path)
    new = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with new.open("xb") as file:
            yield file
        new.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
