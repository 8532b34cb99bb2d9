"""Checks and conversion of X, y and weights."""
