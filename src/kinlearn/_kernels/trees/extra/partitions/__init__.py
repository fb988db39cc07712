"""Compiled growth of extra trees whose rows lie in partitions, level by level."""
