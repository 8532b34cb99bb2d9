"""Check every model that a test fits: a file of it must load again and be the same."""

import contextlib
import io
import pickle

import dics
from dics._boosting import fit as boosting_fit
from dics._estimator import base
from dics._model.file import MODELS


@contextlib.contextmanager
def checked_fit(estimator, fit_on_copy=base.fit_on_copy):
    with fit_on_copy(estimator) as model:
        yield model
        check_saved(model)


def check_saved(model):
    """Raise if the file or the pickle of a model differs from it after loading."""
    model._check_model()
    if type(model) not in MODELS or not hasattr(model, "trees_"):
        return
    try:
        content = saved(model)
    except ValueError as error:  # custom losses and candidates have no place in a file
        if "pickle the model" not in str(error):
            raise
        return
    assert saved(dics.load(io.BytesIO(content))) == content
    with contextlib.suppress(pickle.PicklingError, AttributeError):  # local classes
        pickle.loads(pickle.dumps(model))


def saved(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def install():
    """Replace the function that every fit of a tree, forest or boosting runs in."""
    base.fit_on_copy = checked_fit
    boosting_fit.fit_on_copy = checked_fit
