"""How experiments are run: tasks, the process that fits, and results that are kept."""
