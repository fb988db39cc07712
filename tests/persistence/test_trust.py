"""Files made to do harm: sizes, signatures, types of arrays."""

import io
import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import kinlearn
from kinlearn.datasets import load_demo
from kinlearn.persistence import open_model
from kinlearn.persistence._packing import Blob
from kinlearn.trees import MultiTaskDecisionTreeClassifier

KEY, OTHER = b"a key of many bytes", b"another key of many"


@pytest.fixture
def model():
    X, y = load_demo(return_X_y=True)
    return MultiTaskDecisionTreeClassifier(task="clinic", max_depth=3).fit(X, y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def _entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_read(
    model, path, monkeypatch
):
    kinlearn.save(model, path)
    _write(path, {**_entries(path), "zeros.npy": bytes(300 * 2**20)})
    assert path.stat().st_size < 2**20

    def read(*args):
        pytest.fail("an entry was read")

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "read", read)
        with pytest.raises(
            ValueError, match=r"would unpack to 31.*max_bytes="
        ) as error:
            kinlearn.load(path)
    # whoever follows the advice gets to the next check
    allowed = int(str(error.value).rpartition("=")[2].rstrip(")."))
    with pytest.raises(ValueError, match="was changed after it was saved"):
        kinlearn.load(path, max_bytes=allowed)


def test_a_length_that_is_not_true_does_not_help(model, path):
    kinlearn.save(model, path)
    _write(path, {**_entries(path), "zeros.npy": bytes(2**20)})
    content = path.read_bytes()
    length = (2**20).to_bytes(4, "little")
    assert content.count(length) == 2
    path.write_bytes(content.replace(length, (9).to_bytes(4, "little")))
    with pytest.raises(ValueError, match=r"damaged|was changed"):
        kinlearn.load(path)


def test_a_limit_of_ones_own(model, path):
    kinlearn.save(model, path)
    with pytest.raises(ValueError, match="more than 1,000"):
        kinlearn.load(path, max_bytes=1000)


def test_signed_files_are_those_of_the_key(model, path):
    X, _ = load_demo(return_X_y=True)
    kinlearn.save(model, path, key=KEY)
    for again in (kinlearn.load(path, key=KEY), kinlearn.load(path)):
        assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="was not signed with this key"):
        kinlearn.load(path, key=OTHER)


def test_a_file_without_signature_is_refused_where_one_is_wanted(model, path):
    kinlearn.save(model, path)
    with pytest.raises(ValueError, match=r"is not signed.*--sign"):
        open_model(path, key=KEY)


@pytest.mark.parametrize("what", ["target", "signature"])
def test_who_has_no_key_cannot_sign_a_change(model, path, what):
    from kinlearn.persistence._model_file import _checksum

    kinlearn.save(model, path, key=KEY, target="good")
    entries = _entries(path)
    manifest = json.loads(entries.pop("kinlearn.json"))
    manifest[what] = "evil" if what == "target" else "0" * 64
    manifest["sha256"] = _checksum(manifest, entries)
    _write(path, {"kinlearn.json": json.dumps(manifest), **entries})
    assert kinlearn.load(path) is not None  # a checksum is no signature
    with pytest.raises(ValueError, match="was not signed with this key"):
        kinlearn.load(path, key=KEY)


@pytest.mark.parametrize("key", [b"short", "a text that is long enough", 7])
def test_keys_are_checked(model, path, key):
    with pytest.raises(ValueError, match=r"at least 16 bytes.*token_bytes"):
        kinlearn.save(model, path, key=key)
    assert not path.exists()
    kinlearn.save(model, path)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        kinlearn.load(path, key=key)


@pytest.mark.parametrize("dtype", ["<U100000000", "|V100000000", "|O", "<M8[s]"])
@pytest.mark.parametrize("stored", [False, True])
def test_arrays_hold_numbers_alone(dtype, stored):
    blob = Blob.of({"a": np.arange(5)})
    [[name, whole, shape, [[narrow, *rest]]]] = json.loads(blob.header)
    types = (whole, dtype) if stored else (dtype, narrow)
    header = json.dumps([[name, types[0], shape, [[types[1], *rest]]]])
    with pytest.raises(ValueError, match="not numbers"):
        Blob(header, blob.data).arrays()


def test_models_stay_far_below_the_limit(path):
    # what packs best: a forest that is told one thing many times
    from kinlearn.trees import MultiTaskExtraTreesClassifier

    X = np.repeat(np.eye(4), 200, axis=0)
    model = MultiTaskExtraTreesClassifier(200).fit(X, np.repeat([0, 1, 0, 1], 200))
    kinlearn.save(model, path)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    assert unpacked < 50 * path.stat().st_size


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("columns", [1, 2]),
        ("columns", [{"name": "a"}]),
        ("columns", [{"name": 3, "kind": "value"}]),
        ("order", "abc"),
        ("order", ["nowhere"]),
        ("privileged", [None]),
        ("tasks", [[1], [2]]),
        ("classes", [None, {}]),
        ("classes", {"no": 1}),
        ("kind", "prophecy"),
        ("named", "yes"),
        ("versions", {"numpy": 2}),
        ("task", 5),
        ("target", ["a"]),
    ],
)
def test_odd_manifests_are_one_clear_error(model, path, field, value):
    kinlearn.save(model, path, about={field: value})  # with a right checksum
    with pytest.raises(ValueError, match=f"lacks '{field}'.* in its manifest"):
        open_model(path)
