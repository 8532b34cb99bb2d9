"""Objects that fitted models hold, and that callbacks and subscripts return.

`Trees` is the attribute ``trees_`` of every model. `TreePlan` is ``plan_`` of trees and
forests, and `BoostingPlan` is that of boosting. Callbacks of boosting receive a
`RoundReport` after each round, and ``model[i]`` of boosting is a `RoundTree`.
"""

from dics._boosting.model import RoundTree
from dics._boosting.plan import BoostingPlan
from dics._boosting.rounds import RoundReport
from dics._growing.settings import TreePlan
from dics._model.trees import Trees

__all__ = ["BoostingPlan", "RoundReport", "RoundTree", "TreePlan", "Trees"]
