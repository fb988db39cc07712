"""Models in few bytes: what a file keeps of arrays, forests and boosted trees.

And what skops has no form for: mappings from tuples, and sparse arrays of all formats.

A boosted model of scikit-learn has an object with three arrays for each of its
thousands of trees, of which skops makes as many files, each with a page of JSON. Here
they are one array. Nothing that a prediction reads is rounded.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn.persistence._trusted import FORMER_ATTRIBUTES
from kinlearn.utils._loaded import UnsoundModelError
from kinlearn.utils._loading import check_inside, objects
from kinlearn.utils._sklearn import tree_predictor

__all__ = [
    "Blob",
    "PackedForest",
    "PackedPairs",
    "PackedSparse",
    "PackedTrees",
    "attributes",
    "packed",
    "unpack",
]

_BOOSTING = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
_FOREST = "kinlearn.trees.extra._model"
_KIN = "kinlearn.sharing.kin."
# What importances and later tasks need; a forest inside of Kin has neither.
_APART = (
    "does not hang together. The model is damaged, or somebody changed it: save it "
    "again."
)
_NOT_FOR_PREDICTION = ("weight", "impurity", "split_cut", "split_mean", "split_class")
_DERIVED = ("right", "slot")  # of the nodes of a forest, which follow from its leaves
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
            stored = [codes] if different is None else [codes, different]
            written = [_in_bytes(one) for one in stored]
            parts += [part for _, _, part in written]
            layout = [[dtype, by_byte, len(part)] for dtype, by_byte, part in written]
            header.append([name, array.dtype.str, list(array.shape), layout])
        return cls(json.dumps(header), np.frombuffer(b"".join(parts), dtype=np.uint8))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays, as they were."""
        found, start = {}, 0
        for name, dtype, shape, layout in json.loads(self.header):
            _check_plain([dtype, *(narrow for narrow, _, _ in layout)])
            stored = []
            for narrow, by_byte, length in layout:
                part = self.data[start : start + length]
                size = np.dtype(narrow).itemsize
                part = part.reshape(size, -1).T if by_byte else part.reshape(-1, size)
                stored.append(np.ascontiguousarray(part).view(narrow)[:, 0])
                start += length
            flat = stored[0] if len(stored) == 1 else stored[1][stored[0]]
            found[name] = flat.astype(dtype).reshape(shape)
        return found


def _check_plain(dtypes: list[str]) -> None:
    """Numbers alone: a type of a gigabyte would make as much of every stored byte."""
    for dtype in dtypes:
        if np.dtype(dtype).kind not in "biuf":
            raise ValueError(f"an array in it holds {dtype}, not numbers")


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


@contextmanager
def packed(model: Any) -> Iterator[Any]:
    """The model with packed trees; when the block ends, it is what it was."""
    changed = []
    try:
        inside = _inside_of_kin(model)
        for owner, key, value in list(attributes(model)):
            small = _pack(owner, key, value, slim=id(value) in inside)
            if small is None:
                small = _mapped(value, _pack_parameter)
            if small is not None and small is not value:
                changed.append((owner, key, value))
                vars(owner)[key] = small
        yield model
    finally:
        for owner, key, value in changed:
            vars(owner)[key] = value


def unpack(model: Any) -> Any:
    """The model, which is changed, with trees as they were and attributes of today."""
    for owner, key, value in list(attributes(model)):
        kind = type(owner)
        renamed = FORMER_ATTRIBUTES.get(f"{kind.__module__}.{kind.__name__}", {})
        if key in renamed:
            vars(owner)[renamed[key]] = vars(owner).pop(key)
            key = renamed[key]
        if isinstance(value, PackedForest | PackedPairs | PackedSparse | PackedTrees):
            vars(owner)[key] = value.unpacked(owner)
        elif isinstance(value, dict | list | tuple | np.ndarray):
            vars(owner)[key] = _mapped(value, _unpack_parameter)
    check_inside(model)
    return model


def attributes(model: Any) -> Iterator[tuple[Any, str, Any]]:
    """Every attribute of every object in the model."""
    for one in objects(model):
        for key, value in vars(one).items():
            yield one, key, value


def _inside_of_kin(model: Any) -> set[int]:
    """The objects that Kin's models are made of, by their identity."""
    kins = {id(one): one for one, _, _ in attributes(model)
            if type(one).__module__.startswith(_KIN)}  # fmt: skip
    return {id(value) for kin in kins.values() for _, _, value in attributes(kin)}


def _is(value: Any, module: str, name: str) -> bool:
    """Whether it is of this type; the type need not be imported for that."""
    kind = type(value)
    return kind.__name__ == name and kind.__module__ == module


def _pack(owner: Any, key: str, value: Any, *, slim: bool) -> Any:
    if _is(value, _FOREST, "Forest"):
        return PackedForest.of(value, slim=slim)
    if type(owner).__module__ == _BOOSTING and key == "_predictors":
        return PackedTrees.of(value)
    small = _pack_parameter(value)
    return None if small is value else small


def _pack_parameter(value: Any) -> Any:
    """What a parameter may be, and a list of parameters to search hold."""
    if isinstance(value, Mapping) and any(isinstance(key, tuple) for key in value):
        return PackedPairs.of(value)
    if sp.issparse(value) and value.ndim == 2 and value.dtype.kind in "biuf":
        return PackedSparse.of(value)
    return value


def _unpack_parameter(value: Any) -> Any:
    if isinstance(value, PackedPairs | PackedSparse):
        return value.unpacked(None)
    return value


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Value, or a copy of it where something that it holds is changed."""
    new = change(value)
    if new is not value:
        return new
    kind = type(value)
    if kind is dict:
        items: Any = list(value.values())
    elif kind in (list, tuple):
        items = value
    elif isinstance(value, np.ndarray) and value.dtype == object:
        items = list(np.ma.getdata(value).flat)
    else:
        return value
    mapped = [_mapped(item, change) for item in items]
    if all(a is b for a, b in zip(items, mapped, strict=True)):
        return value
    if kind is dict:
        return dict(zip(value, mapped, strict=True))
    if kind in (list, tuple):
        return kind(mapped)
    new = value.copy()
    for place, item in zip(np.ndindex(new.shape), mapped, strict=True):
        np.ma.getdata(new)[place] = item
    return new


class PackedPairs:
    """A mapping from tuples, such as the links of a graph; JSON has names alone."""

    def __init__(self, keys: list, values: list) -> None:
        self.keys, self.values = keys, values

    @classmethod
    def of(cls, mapping: Mapping) -> "PackedPairs":
        """Pack it."""
        return cls(list(mapping.keys()), list(mapping.values()))

    def unpacked(self, owner: Any) -> dict:
        """The mapping, as a dict."""
        return dict(zip(self.keys, self.values, strict=True))


class PackedSparse:
    """A sparse array by rows, columns and values, of which scipy checks the range."""

    def __init__(self, blob: Blob, form: str, is_matrix: bool) -> None:
        self.blob, self.form, self.is_matrix = blob, form, is_matrix

    @classmethod
    def of(cls, array: Any) -> "PackedSparse":
        """Pack it."""
        entries = array.tocoo()
        arrays = {"row": entries.row, "column": entries.col, "value": entries.data}
        arrays["shape"] = np.array(array.shape)
        return cls(Blob.of(arrays), array.format, isinstance(array, sp.spmatrix))

    def unpacked(self, owner: Any) -> Any:
        """The array, in its format."""
        found = self.blob.arrays()
        place, shape = (found["row"], found["column"]), tuple(found["shape"].tolist())
        kind = sp.coo_matrix if self.is_matrix else sp.coo_array
        return kind((found["value"], place), shape=shape).asformat(self.form)


class PackedForest:
    """A forest of kinlearn's."""

    def __init__(self, blob: Blob) -> None:
        self.blob = blob

    @classmethod
    def of(cls, forest: Any, *, slim: bool = False) -> "PackedForest":
        """Pack it; `slim` leaves out what predictions do not need."""
        arrays = {field.name: getattr(forest, field.name) for field in fields(forest)}
        for name in _NOT_FOR_PREDICTION if slim else ():
            arrays[name] = None if arrays[name] is None else arrays[name][:0]
        arrays = {name: array for name, array in arrays.items() if array is not None}
        nodes = arrays.pop("nodes")
        columns = {f"nodes.{name}": nodes[name] for name in nodes.dtype.names or ()}
        split = nodes["feature"] != -1
        if np.isneginf(nodes["threshold"][~split]).all():
            columns["nodes.threshold"] = nodes["threshold"][split]
        derived = _derived(nodes["feature"], forest)
        for name in _DERIVED:
            if np.array_equal(derived[name], nodes[name]):
                del columns[f"nodes.{name}"]
        return cls(Blob.of({**columns, **arrays}))

    def unpacked(self, owner: Any) -> Any:
        """The forest."""
        from kinlearn.trees.extra import Forest

        arrays = self.blob.arrays()
        columns = {
            name.partition(".")[2]: arrays.pop(name)
            for name in list(arrays)
            if name.startswith("nodes.")
        }
        whole = Forest(nodes=columns["feature"], **arrays)
        missing = [name for name in _DERIVED if name not in columns]
        if missing:
            derived = _derived(columns["feature"], whole)
            columns |= {name: derived[name] for name in missing}
        order = ("feature", "threshold", "right", "slot")
        dtype = [(name, columns[name].dtype) for name in order]
        nodes = np.empty(len(columns["feature"]), dtype=dtype)
        if len(columns["threshold"]) < len(nodes):
            nodes["threshold"] = -np.inf
            split = np.flatnonzero(columns["feature"] != -1)
            if len(split) != len(columns["threshold"]):
                raise UnsoundModelError(f"a forest in it {_APART}")
            nodes["threshold"][split] = columns.pop("threshold")
        for name, column in columns.items():
            nodes[name] = column
        return Forest(nodes=nodes, **arrays)


def _derived(feature: np.ndarray, forest: Any) -> dict[str, np.ndarray]:
    """Right children and slots of nodes that stand in depth-first order.

    Along the nodes of a tree, let a split count +1 and a leaf -1. The sum before a
    node comes back to the same number for the first time at its right child, because
    a whole subtree counts -1.
    """
    n = len(feature)
    leaf, by_task = feature == -1, feature == -2
    level = np.cumsum(np.where(leaf, -1, 1)) - np.where(leaf, -1, 1)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_start))
    start = forest.tree_start[tree]
    order = np.argsort(level, kind="stable")
    following = np.empty(n, dtype=np.int64)
    following[order[:-1]] = order[1:]
    following[order[-1:]] = 0
    own = np.arange(n)
    right = np.where(leaf, own, following) - start
    slot = np.full(n, -1)
    for kind, starts in ((leaf, forest.leaf_start), (by_task, forest.split_start)):
        where = np.flatnonzero(kind)
        slot[where] = np.arange(len(where)) - starts[tree[where]]
    return {"right": right.astype(np.int32), "slot": slot.astype(np.int32)}


class PackedTrees:
    """The trees of a booster of scikit-learn's."""

    def __init__(self, blob: Blob) -> None:
        self.blob = blob

    @classmethod
    def of(cls, rounds: Any) -> "PackedTrees":
        """Pack them, without what only growing needs.

        Left out are gains, and the values of nodes that are no leaves.
        """
        trees = [tree for one in rounds for tree in one]
        nodes = np.concatenate([tree.nodes for tree in trees])
        arrays = {
            "trees": np.array([len(one) for one in rounds]),
            "sizes": np.array([len(tree.nodes) for tree in trees]),
            "sets": np.array([len(tree.raw_left_cat_bitsets) for tree in trees]),
        }
        for name in nodes.dtype.names or ():
            if name == "value":
                arrays[name] = nodes[name][nodes["is_leaf"] != 0]
            elif name != "gain":
                arrays[name] = nodes[name]
        for name in ("binned_left_cat_bitsets", "raw_left_cat_bitsets"):
            arrays[name] = np.concatenate([getattr(tree, name) for tree in trees])
        return cls(Blob.of(arrays))

    def unpacked(self, owner: Any) -> Any:
        """The trees."""
        TreePredictor, dtype = tree_predictor()
        arrays = self.blob.arrays()
        nodes = np.zeros(len(arrays["is_leaf"]), dtype=dtype)
        for name in nodes.dtype.names or ():
            if name == "value":
                nodes[name][arrays["is_leaf"] != 0] = arrays[name]
            elif name != "gain":
                nodes[name] = arrays[name]
        parts = [np.split(nodes, np.cumsum(arrays["sizes"])[:-1])]
        for name in ("binned_left_cat_bitsets", "raw_left_cat_bitsets"):
            parts.append(np.split(arrays[name], np.cumsum(arrays["sets"])[:-1]))
        trees = iter([TreePredictor(*one) for one in zip(*parts, strict=True)])
        return [[next(trees) for _ in range(n)] for n in arrays["trees"].tolist()]
