"""Types in a script of a user; `make lint` checks them, but nothing runs."""

from typing import assert_type

import numpy as np

import dics
import dics.model


def types_of_a_script() -> None:
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    forest = dics.CGForestClassifier(n_estimators=3)
    regressor = dics.CGForestRegressor(n_estimators=3)
    assert_type(dics.CGBoostingClassifier().fit(X, y), dics.CGBoostingClassifier)
    assert_type(forest.fit(X, y), dics.CGForestClassifier)
    assert_type(forest.fit(X, y)[0], dics.CGTreeClassifier)
    assert_type(regressor.fit(X, y)[0], dics.CGTreeRegressor)
    assert_type(regressor.fit(X, y).estimators_, list[dics.CGTreeRegressor])
    assert_type(forest.fit(X, y).n_features_in_, int)
    boosting = dics.CGBoostingClassifier().fit(X, y)
    assert_type(boosting[:5], dics.CGBoostingClassifier)
    assert_type(boosting[0], dics.model.RoundTree)
    boosting.predict(X, n_rounds=5)
    assert_type(dics.CentroidCandidates().fit(X, y), dics.CentroidCandidates)
    dics.CGBoostingClassifier().fit(X)  # type: ignore[call-arg]
