"""The command ``kin``."""


def main():
    """Entry point of the command."""
    raise SystemExit(2)
