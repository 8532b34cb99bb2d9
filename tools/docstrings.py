"""Check the docstrings of the public API: python tools/docstrings.py.

numpydoc validates the names in `__all__` of the public modules, and the methods and
properties that public classes get from dics. Other checks are for the entries of
parameters, attributes and results: one name, a type, and a description of at most 60
words. All estimators have the same description for the same name and type.
"""

import importlib
import inspect
import sys
from collections import defaultdict
from dataclasses import is_dataclass

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

MODULES = ("dics", "dics.dask", "dics.export", "dics.model", "dics.plot")
MAX_WORDS = 60
# Checks that contradict the style of the project.
DROPPED = {
    "ES01",  # one sentence is enough for many functions
    "RT02",  # results have names, as in scikit-learn
}
# As in scikit-learn, a class shows the examples and the related objects of its methods.
CLASSES_AND_FUNCTIONS = {"EX01", "SA01"}
ENTRIES = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
# Results and errors differ between estimators.
SHARED = ("Parameters", "Attributes")


class ObjectValidator(Validator):
    """Validator of an object; `Validator` gets a name."""

    def __init__(self, obj_name, found):  # noqa: ARG002 (the argument of `validate`)
        super().__init__(parsed(found))

    @property
    def signature_parameters(self):
        """The names of the arguments, without private ones."""
        names = super().signature_parameters
        return tuple(name for name in names if not name.startswith("_"))

    @property
    def doc_all_parameters(self):
        """The entries that describe the arguments."""
        if not is_dataclass(self.obj):
            return super().doc_all_parameters
        # The library makes these objects, and users read their fields. Properties are
        # attributes too.
        entries = self._doc_parameters(["Attributes"])
        names = self.signature_parameters
        return {name: entries[name] for name in entries if name in names}


def parsed(found):
    """Return the sections of a docstring, without those that numpydoc would add."""
    return get_doc_object(found, config={"show_class_members": False})


def is_own(found):
    """Return True if an object is defined in dics."""
    return getattr(found, "__module__", "").partition(".")[0] == "dics"


def public_objects():
    """Yield the names and the objects of the public API."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            found = getattr(module, name)
            if is_own(found):  # otherwise, a constant
                yield f"{module_name}.{name}", found
            if inspect.isclass(found):
                for member, value in members(found):
                    yield f"{module_name}.{name}.{member}", value


def members(cls):
    """Yield the names and the public methods and properties of a class."""
    for name in dir(cls):
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if owner is None or not is_own(owner) or name.startswith("_"):
            continue
        found = vars(owner)[name]
        found = getattr(found, "__func__", found)  # of a class method
        if inspect.isfunction(found) or isinstance(found, property):
            yield name, found


def problems(name, found):
    """Yield the problems of one object."""
    dropped = set(DROPPED)
    # A function or a class of a module, and not a method.
    if name.rpartition(".")[0] not in MODULES:
        dropped |= CLASSES_AND_FUNCTIONS
    for code, message in validate(name, ObjectValidator, found=found)["errors"]:
        if code not in dropped:
            yield f"{code} {message}"
    for section, entry in entries(found):
        where = f"{section}: {entry.name or entry.type}"
        text = " ".join(entry.desc)
        if not entry.type:
            yield f"{where} has no type"
        if not text.endswith("."):
            yield f"{where} has no description that ends with a period"
        if len(text.split()) > MAX_WORDS:
            yield f"{where} has more than {MAX_WORDS} words"
        if "," in entry.name:
            yield f"{where} must be one entry per name"


def entries(found):
    """Yield the section, and the entry of numpydoc, for all entries of an object."""
    doc = parsed(found)
    for section in ENTRIES:
        for entry in doc[section]:
            yield section, entry


def unequal_entries(objects):
    """Yield the entries of estimators that differ although name and type are equal."""
    texts = defaultdict(lambda: defaultdict(list))
    for name, found in objects:
        if not is_of_estimator(name):
            continue
        method = name.partition("CG")[2].partition(".")[2]
        for section, entry in entries(found):
            if section in SHARED:
                text = " ".join(line.strip() for line in entry.desc)
                texts[method, entry.name, entry.type][text].append(name)
    for (_, entry_name, kind), by_text in texts.items():
        if len(by_text) > 1:
            yield f"{entry_name} : {kind} has several descriptions:"
            for text, names in by_text.items():
                yield f"    {text!r} in {', '.join(names)}"


def is_of_estimator(name):
    """Return True for an estimator that grows trees, and for its methods."""
    return name.startswith(("dics.CG", "dics.dask.DaskCG"))


def main():
    """Print all problems, and return their number."""
    found = dict(public_objects())
    # Inherited methods occur once per class.
    first = {id(value): name for name, value in reversed(found.items())}
    objects = [(name, found[name]) for name in reversed(first.values())]
    messages = [f"{n}: {text}" for n, value in objects for text in problems(n, value)]
    messages += unequal_entries(objects)
    print(*messages, sep="\n", end="\n" if messages else "")
    return len(messages)


if __name__ == "__main__":
    sys.exit(main() > 0)
