"""Objects that fitted models hold, and that callbacks and subscripts return.

`Trees` is the attribute ``trees_`` of every model, and `BoostingPlan` is ``plan_`` of
boosting. Callbacks of boosting receive a `RoundReport` after each round, and
``model[i]`` of boosting is a `RoundTree`.
"""

from dics._boosting.fit import RoundTree
from dics._boosting.plan import BoostingPlan
from dics._boosting.rounds import RoundReport
from dics._model.trees import Trees

__all__ = ["BoostingPlan", "RoundReport", "RoundTree", "Trees"]
