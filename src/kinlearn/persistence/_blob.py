"""Arrays as one run of bytes that a zip file makes small."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

__all__ = ["Blob"]

_SAMPLE = 1 << 16  # bytes that decide on the order in which an array is written


@dataclass(frozen=True, eq=False)
class Blob:
    """Arrays end to end, every bit of them kept.

    Whole numbers are written in the fewest bytes that hold them, numbers that repeat
    as positions in a list of the different ones, all others as they are; and of each
    of these all first bytes may stand before all second ones.

    Attributes
    ----------
    header : str
        What stands where, as JSON.
    data : uint8 array
        The arrays.
    """

    header: str
    data: np.ndarray

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Pack arrays of numbers."""
        header, parts = [], []
        for name, array in arrays.items():
            codes, different = _by_codes(_narrow(np.ravel(array)))
            pieces = [codes] if different is None else [codes, different]
            written = [_in_bytes(piece) for piece in pieces]
            parts += [part for _, _, part in written]
            layout = [[dtype, by_byte, len(part)] for dtype, by_byte, part in written]
            header.append([name, array.dtype.str, list(array.shape), layout])
        return cls(json.dumps(header), np.frombuffer(b"".join(parts), dtype=np.uint8))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays, as they were."""
        found, start = {}, 0
        for name, dtype, shape, layout in json.loads(self.header):
            pieces = []
            for narrow, by_byte, length in layout:
                part = self.data[start : start + length]
                size = np.dtype(narrow).itemsize
                part = part.reshape(size, -1).T if by_byte else part.reshape(-1, size)
                pieces.append(np.ascontiguousarray(part).view(narrow)[:, 0])
                start += length
            flat = pieces[0] if len(pieces) == 1 else pieces[1][pieces[0]]
            found[name] = flat.astype(dtype).reshape(shape)
        return found


def _narrow(array: np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest type that holds them all."""
    if array.dtype.kind not in "iu" or not len(array):
        return array
    low, high = int(array.min()), int(array.max())
    for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        limits = np.iinfo(dtype)
        if limits.min <= low and high <= limits.max:
            return array.astype(dtype)
    return array


def _by_codes(array: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Positions in the different numbers, and these, where they repeat enough."""
    if array.dtype.kind != "f" or not len(array):
        return array, None
    bits = array.view(f"u{array.itemsize}")  # so that NaN and -0.0 stay what they are
    different, codes = np.unique(bits, return_inverse=True)
    if 4 * len(different) > len(array):
        return array, None
    return _narrow(codes), different.view(array.dtype)


def _in_bytes(array: np.ndarray) -> tuple[str, bool, bytes]:
    """The type, whether all first bytes come first, and the bytes."""
    size = array.itemsize
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(-1, size)
    if size == 1:
        return array.dtype.str, False, rows.tobytes()
    some = rows[: _SAMPLE // size]
    by_byte = _zipped(some.T.tobytes()) < _zipped(some.tobytes())
    return array.dtype.str, by_byte, (rows.T if by_byte else rows).tobytes()


def _zipped(content: Any) -> int:
    return len(zlib.compress(content, 6))
