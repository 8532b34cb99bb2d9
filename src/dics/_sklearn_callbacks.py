"""Callbacks of scikit-learn, which it has from version 1.9 on, in fits of boosting."""

from __future__ import annotations

from typing import Any

CallbackSupport: Any
try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9
    CallbackSupport = object
else:
    CallbackSupport = CallbackSupportMixin

# Where scikit-learn's `set_callbacks` keeps them.
ATTRIBUTE = "_skl_callbacks"


class FitTasks:
    """Tells scikit-learn's callbacks of a fit and of its rounds.

    They see the estimator and the place of a task, such as ``ProgressBar`` needs. They
    are not given a model that can predict, as ``ScoringMonitor`` wants one.

    Parameters
    ----------
    model : estimator
        It must have callbacks.
    n_rounds : int or None
        Rounds that the fit will have at most, if that is known.
    """

    def __init__(self, model: Any, n_rounds: int | None) -> None:
        self.model = model
        self.context = model._init_callback_context(max_subtasks=n_rounds)
        self.context.call_on_fit_task_begin(estimator=model)

    def __call__(self, _: Any) -> bool:
        """Take note of a round that is done; tell whether to stop."""
        task = self.context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self.model)
        return bool(task.call_on_fit_task_end(estimator=self.model))

    def end(self) -> None:
        """Take note of the end of the fit."""
        self.context.call_on_fit_task_end(estimator=self.model)
