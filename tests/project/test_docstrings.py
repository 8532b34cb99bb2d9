"""Docstrings of the public API, and the places that show them."""

import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from numpydoc.docscrape import get_doc_object
from sklearn.base import BaseEstimator, is_classifier
from sklearn.datasets import load_iris

import dics
import dics.dask
from dics._estimator.base import TreesEstimator

ROOT = Path(__file__).parents[2]
MODULES = ("dics", "dics.dask", "dics.export", "dics.model", "dics.plot")
ESTIMATORS = [
    cls
    for module in (dics, dics.dask)
    for cls in (getattr(module, name) for name in module.__all__)
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator)
]
LOCAL = [
    cls
    for cls in ESTIMATORS
    if issubclass(cls, TreesEstimator) and not cls.__name__.startswith("Dask")
]


@pytest.fixture(scope="module")
def pages():
    """Names of the API reference, each of which has a page."""
    text = (ROOT / "docs/api/index.md").read_text(encoding="utf-8")
    return {f"dics.{name}" for name in re.findall(r"(?m)^   ([\w.]+)$", text)}


def documented(cls, section):
    doc = get_doc_object(cls, config={"show_class_members": False})
    return {entry.name: " ".join(entry.desc) for entry in doc[section]}


def test_every_public_name_has_a_page(pages):
    public = {
        f"{name}.{member}"
        for name in MODULES
        for member in importlib.import_module(name).__all__
    }
    assert public == pages


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_html_repr_links_to_the_page(cls, pages):
    link = cls()._get_doc_link()
    site, _, page = link.partition("api/generated/")
    assert page.removesuffix(".html") in pages
    assert f'html_baseurl = "{site}"' in (ROOT / "docs/conf.py").read_text("utf-8")
    assert f'href="{link}"' in cls()._repr_html_()


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_html_repr_has_tooltips_of_all_parameters(cls):
    # Earlier versions of scikit-learn have no tooltips.
    pytest.importorskip("sklearn.utils._repr_html.common")
    shown = cls()._repr_html_()
    for name in cls._get_param_names():
        found = re.search(
            rf"--doc-link-{name};.*?>\s*{name}: .*?<br><br>(.+?)</span>",
            shown,
            re.DOTALL,
        )
        assert found, name
        first = documented(cls, "Parameters")[name].split()[0]
        assert found[1].startswith(first.replace('"', "&quot;"))


def test_subclasses_of_users_have_no_link():
    class Own(dics.BaseCandidates):
        pass

    assert Own()._get_doc_link() == ""


@pytest.mark.parametrize(
    "cls",
    [*LOCAL, dics.CentroidCandidates, dics.QuantileCandidates],
    ids=lambda cls: cls.__name__,
)
def test_attributes_are_documented(cls):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = cls(random_state=0)
    if hasattr(model, "oob_score"):
        model.set_params(oob_score=True)
    model.fit(X, y if is_classifier(model) else np.asarray(y, dtype=float))
    public = {name for name in vars(model) if re.fullmatch(r"[a-z]\w*_", name)}
    public |= {name for name in dir(cls) if re.fullmatch(r"[a-z]\w*_", name)}
    assert documented(cls, "Attributes").keys() == public


def test_dask_estimators_have_the_entries_of_the_local_ones():
    for cls in LOCAL:
        other = getattr(dics.dask, f"Dask{cls.__name__}")
        parameters = documented(other, "Parameters")
        assert parameters.pop("client")
        assert parameters == documented(cls, "Parameters")
        assert documented(other, "Attributes") == documented(cls, "Attributes")


@pytest.fixture(scope="module")
def checks():
    path = ROOT / "tools/docstrings.py"
    spec = importlib.util.spec_from_file_location("docstrings", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def incomplete(x, y):
    """Return a sum.

    Parameters
    ----------
    x, y : float
        The summands.
    z : float

    Returns
    -------
    total : float
    """
    return x + y


def test_problems_are_found(checks):
    found = set(checks.problems("dics.incomplete", incomplete))
    assert {
        "EX01 No examples section found",
        "PR02 Unknown parameters {'z'}",
        "RT03 Return value has no description",
        "Parameters: x, y must be one entry per name",
    } <= found
    as_method = set(checks.problems("dics.Class.incomplete", incomplete))
    assert found - as_method == {
        "EX01 No examples section found",
        "SA01 See Also section not found",
    }


def test_unequal_entries_are_found(checks):
    def other(z):
        """Return z.

        Parameters
        ----------
        z : float
            Something else.
        """

    objects = {"dics.CGTree.f": incomplete, "dics.CGForest.f": other}
    assert [line for line in checks.unequal_entries(objects.items()) if "z" in line]
    objects = {"dics.CGTree.f": incomplete, "dics.CGForest.g": other}
    assert not list(checks.unequal_entries(objects.items()))


def test_public_objects(checks):
    names = [name for name, _ in checks.public_objects()]
    assert {"dics.load", "dics.plot.plot_tree", "dics.CGTreeClassifier.fit"} <= {*names}
    # Methods of scikit-learn and private ones are not checked.
    assert not [name for name in names if name.endswith(("get_params", "_fit"))]
