"""Arrays and attributes made of objects that Python and NumPy have once.

Pickle writes an object once and refers to it from then on. So equal models have equal
pickles only if what is equal in them is one object, wherever their arrays were made: a
type that was itself pickled, or text that was, is another object than before.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def own_type(array: Array) -> Array:
    """Return an array with NumPy's own object for its type, if there is one."""
    if array.dtype.kind in "VT":  # records, strings of any length
        return array
    own = np.dtype(array.dtype.str)
    return array if array.dtype is own else array.view(own)


def own_names(state: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with Python's own objects for their names.

    Instances of a class may share the names of their attributes with the first one, and
    if that came out of a pickle or a file, these are other objects.
    """
    return {sys.intern(str(name)): value for name, value in state.items()}


def own_objects(values: Array) -> Array:
    """Return a vector with that object, and with Python's own ones for text."""
    plain = own_type(values)
    if plain.dtype != object:
        return plain
    made = np.empty(len(plain), dtype=object)
    for i, value in enumerate(plain):
        made[i] = sys.intern(value) if type(value) is str else value
    return made
