"""Gradient boosting: the plan of a fit, its rows, its rounds and its losses."""
