"""Tasks, the process that fits models, and stored results."""
