"""Linear models for related tasks."""
