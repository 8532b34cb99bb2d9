"""Callbacks that others have written: Optuna's pruning, scikit-learn's progress."""

import io

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split

import dics
from dics import FastCGBMClassifier, FastCGBMRegressor

X, Y = load_breast_cancer(return_X_y=True)


# --- Optuna ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
def test_optuna_prunes_trials():
    """Trials that are worse than others after some rounds end there."""
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X_train, X_val, y_train, y_val = train_test_split(X, Y, random_state=0)
    rounds_done = {}

    def objective(trial):
        rate = trial.suggest_float("learning_rate", 1e-4, 0.3, log=True)

        def report_loss(report):
            rounds_done[trial.number] = report.round
            trial.report(report.validation_loss, step=report.round)
            if trial.should_prune():
                raise optuna.TrialPruned()

        model = FastCGBMClassifier(
            30, learning_rate=rate, early_stopping=False, random_state=0, n_jobs=1
        )
        try:
            model.fit(
                X_train, y_train, X_val=X_val, y_val=y_val, callbacks=[report_loss]
            )
        except optuna.TrialPruned:
            assert not hasattr(model, "trees_")  # nothing is left of the fit
            raise
        return model.evals_result_["validation"]["log_loss"][-1]

    study = optuna.create_study(
        sampler=optuna.samplers.RandomSampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=3),
    )
    study.enqueue_trial({"learning_rate": 0.2})
    study.enqueue_trial({"learning_rate": 0.1})
    study.enqueue_trial({"learning_rate": 1e-4})
    study.optimize(objective, n_trials=6)
    states = [trial.state for trial in study.trials]
    assert states[:2] == [optuna.trial.TrialState.COMPLETE] * 2
    assert states[2] == optuna.trial.TrialState.PRUNED
    for trial in study.trials:
        pruned = trial.state == optuna.trial.TrialState.PRUNED
        assert (rounds_done[trial.number] < 30) == pruned
        assert len(trial.intermediate_values) == rounds_done[trial.number]
    assert study.best_value < 0.2


# --- scikit-learn ---------------------------------------------------------------------


class Recorder:
    """A callback of scikit-learn that writes down what it is told."""

    def __init__(self, stop_after=None):
        self.events = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name, context.task_id))
        n_ends = sum(event[:2] == ("end", "round") for event in self.events)
        return n_ends == self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback")


def test_tasks_of_a_fit(callback):
    recorder = Recorder()
    model = FastCGBMClassifier(3, random_state=0).set_callbacks(recorder)
    model.fit(X, Y)
    rounds = [(kind, "round", t) for t in range(3) for kind in ("begin", "end")]
    whole = [("begin", "fit", 0), *rounds, ("end", "fit", 0)]
    assert recorder.events == ["setup", *whole, "teardown"]
    plain = FastCGBMClassifier(3, random_state=0).fit(X, Y)
    assert (model.predict_proba(X) == plain.predict_proba(X)).all()


def test_callbacks_stop_a_fit(callback):
    model = FastCGBMRegressor(n_estimators=20).set_callbacks(Recorder(stop_after=4))
    assert model.fit(*load_diabetes(return_X_y=True)).n_iter_ == 4


def test_callbacks_are_torn_down_after_an_error(callback):
    recorder = Recorder()
    model = FastCGBMClassifier(3).set_callbacks(recorder)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.where(Y, 1.0, np.nan))
    assert recorder.events[-1] == "teardown"
    assert not hasattr(model, "_callback_fit_ctx")


def test_auto_rounds_and_warm_starts(callback):
    """Fits whose rounds are not known before, and fits that add some."""
    X, y = load_diabetes(return_X_y=True)
    recorder = Recorder()
    model = FastCGBMClassifier(random_state=0).set_callbacks(recorder)
    model.fit(X, (y > 150).astype(int))
    assert len(recorder.events) == 2 * model.n_iter_ + 4
    recorder = Recorder()
    model = FastCGBMRegressor(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=5).set_callbacks(recorder).fit(X, y)
    assert len(recorder.events) == 2 * 2 + 4


def test_progress_bar(callback, capsys):
    pytest.importorskip("rich")
    model = FastCGBMClassifier(5, random_state=0)
    model.set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert "FastCGBMClassifier - fit" in capsys.readouterr().out
    search = GridSearchCV(clone(model).set_callbacks(), {"max_depth": [2, 3]}, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert "GridSearchCV - fit" in capsys.readouterr().out
    assert search.best_estimator_.n_iter_ == 5


def test_callbacks_stay_out_of_files(callback):
    model = FastCGBMClassifier(2).set_callbacks(Recorder()).fit(X, Y)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    loaded = dics.load(file)
    assert not hasattr(loaded, "_skl_callbacks")
    assert (loaded.predict(X) == model.predict(X)).all()
