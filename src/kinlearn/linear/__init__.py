"""Linear models of related tasks."""
