"""Compiled loops. They know arrays and numbers, never estimators or options.

Callers validate; a kernel trusts the arrays it is given and fills those that
the caller allocated.
"""
