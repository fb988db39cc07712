"""``--sign`` and ``--verify``: a key in a file."""

from pathlib import Path

from kinlearn.cli._errors import UserError, file_error

__all__ = ["read_key"]

_SHORTEST, _LONGEST = 16, 4096


def read_key(path: Path) -> bytes:
    """The bytes of a key file, without the end of its last line."""
    try:
        with open(path, "rb") as stream:
            key = stream.read(_LONGEST + 1).rstrip(b"\r\n")
    except OSError as error:
        raise file_error(error, path, "read") from error
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise UserError(
            f"{path} is no key: it must hold {_SHORTEST} to {_LONGEST} bytes that "
            'nobody can guess. Make one by: python -c "import secrets; '
            'print(secrets.token_hex(32))" > kin.key'
        )
    return key
