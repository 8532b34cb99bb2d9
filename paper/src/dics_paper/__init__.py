"""The paper's experiments: every table and figure, reproduced."""
