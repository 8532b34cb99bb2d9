"""Fitted models as arrays: trees, their checks, model files."""
