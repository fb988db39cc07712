"""Compiled loops of the trees: growing, asking, and sums by leaf and task."""
