"""Mixed models: tasks and other groupings have effects that are drawn from a common law."""
