"""Files that are fetched: from a server of this process, in the real ones' form."""

import functools
import gc
import hashlib
import http.server
import io
import tarfile
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.datasets import (
    fetch_20newsgroups_tasks,
    fetch_dataset,
    fetch_mnist,
    fetch_multilevel,
    fetch_uci,
    list_datasets,
)
from kinlearn.datasets.loaded import _catalogue, _public
from kinlearn.datasets.loaded._catalogue import CATALOGUE
from kinlearn.utils import import_optional

pytest.importorskip("pooch")
# connections that requests leaves open after an error
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The folder that a server shows, and its address."""
    folder = tmp_path_factory.mktemp("public")
    handler = functools.partial(Silent, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}/it"
    server.shutdown()
    server.server_close()
    thread.join()
    gc.collect()


@pytest.fixture
def serve(server, home, monkeypatch):
    """A function that puts a file on the server and makes it that of a set."""
    monkeypatch.setattr(_public, "import_optional", import_optional)
    folder, url = server

    def put(name, file, content, *, sha256=None):
        (folder / "it").write_bytes(content)
        entry = CATALOGUE[name]
        public = entry.public[file]._replace(
            url=url,
            sha256=sha256 or hashlib.sha256(content).hexdigest(),
        )
        changed = entry._replace(public={**entry.public, file: public})
        monkeypatch.setitem(_catalogue.CATALOGUE, name, changed)
        return folder / "it"

    return put


HEART = b"70.0 1.0 4.0 130.0 322.0 0.0 2.0 109.0 0.0 2.4 2.0 3.0 3.0 2\n" * 2
HEART += b"67.0 0.0 3.0 115.0 564.0 0.0 2.0 160.0 0.0 1.6 2.0 0.0 7.0 1\n"


def put_heart(serve, **options):
    return serve("uci:heart", "uci/heart_statlog.csv", HEART, **options)


def test_a_missing_file_is_fetched_once_and_checked_afterwards(serve, home):
    served = put_heart(serve)
    heart = fetch_uci("heart")
    assert heart.target_names == ["absent", "present"]
    assert_array_equal(heart.target, [1, 1, 0])
    assert_array_equal(heart.data[:, -1], [1, 1, 0])
    assert_array_equal(heart.data[:, 0], [70, 70, 67])
    served.unlink()
    assert_array_equal(fetch_uci("heart").data, heart.data)
    path = home / "uci" / "heart_statlog.csv"
    assert sorted(path.parent.iterdir()) == [
        path,
        path.with_name(path.name + ".sha256"),
    ]
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(OSError, match="it is damaged or another version"):
        fetch_uci("heart")


def test_something_else_at_the_address_is_not_taken(serve, home):
    put_heart(serve, sha256="0" * 64)
    with pytest.raises(
        FileNotFoundError, match=r"Fetching it from http://127.* failed"
    ):
        fetch_uci("heart")
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_an_address_out_of_reach_says_where_to_get_the_file(serve, home):
    put_heart(serve).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        fetch_uci("heart")
    message = str(caught.value)
    assert "Fetching it from http://127.0.0.1" in message
    assert str(home / "uci" / "heart_statlog.csv") in message
    assert "Original source: https://archive.ics.uci.edu/" in message


def test_without_pooch_the_message_names_the_extra(serve, monkeypatch):
    put_heart(serve)

    def absent(name, *, extra, purpose):
        raise ImportError(f"{purpose} needs {name}: pip install 'kinlearn[{extra}]'")

    monkeypatch.setattr(_public, "import_optional", absent)
    with pytest.raises(FileNotFoundError, match=r"pip install 'kinlearn\[fetch\]'"):
        fetch_uci("heart")


def test_nothing_is_fetched_against_the_users_will(serve, home):
    put_heart(serve)
    with pytest.raises(FileNotFoundError, match="download_if_missing=False"):
        fetch_uci("heart", download_if_missing=False)
    assert not list(home.rglob("*"))


def test_a_file_that_is_there_is_not_fetched(serve, put):
    put_heart(serve).unlink()
    header = CATALOGUE["uci:heart"].public["uci/heart_statlog.csv"].options["header"]
    put("uci/heart_statlog.csv", header.split(","), [[*"1234567890123", "present"]])
    assert_array_equal(fetch_uci("heart").data[:, 0], [1])


@pytest.mark.parametrize(
    ("name", "file", "line"),
    [
        ("abalone", "uci/abalone.csv", b"M,0.455,0.365,0.095,0.5,0.2,0.1,0.15,15\n"),
        ("cmc", "uci/cmc.csv", b"24,2,3,3,1,1,2,3,0,1\n"),
        ("breast_cancer_wisconsin", "uci/breast_cancer_wisconsin.csv",
         b"1000025,5,1,1,1,2,?,3,1,1,2\n"),
        ("hepatitis", "uci/hepatitis.csv",
         b"2,30,2,1,2,2,2,2,1,2,2,2,2,2,1.00,85,18,4.0,?,1\n"),
    ],
)  # fmt: skip
def test_tables_of_the_repository(serve, name, file, line):
    serve(f"uci:{name}", file, line * 3)
    loaded = fetch_uci(name)
    assert len(loaded.data) == 3
    assert np.isnan(loaded.data).sum() == 3 * line.count(b"?")
    assert loaded.data.shape[1] == CATALOGUE[f"uci:{name}"].features + 1


def test_wine_comes_in_two_files_with_their_own_header(serve, put):
    header = b'"fixed acidity";"alcohol";"quality"\n'
    serve("uci:wine_quality", "uci/wine_quality_red.csv", header + b"7.4;9.4;5\n")
    put("uci/wine_quality_white.csv", ["fixed acidity", "alcohol", "quality"], ["124"])
    wine = fetch_uci("wine_quality")
    assert_array_equal(wine.data, [[7.4, 9.4, 0], [1, 2, 1]])
    assert_array_equal(wine.target, [5, 4])


def test_digits_of_keras(serve):
    images = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    y = np.array([3, 4], dtype=np.uint8)
    stream = io.BytesIO()
    np.savez(stream, x_train=images, y_train=y, x_test=images[::-1], y_test=y[::-1])
    serve("mnist", "mnist/mnist.npz", stream.getvalue())
    mnist = fetch_mnist()
    assert_array_equal(mnist.data[0], images[0].ravel())
    assert_array_equal(mnist.target, [3, 4, 4, 3])


def _archive(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def test_newsgroups(serve):
    content = _archive(
        {
            "20news-bydate-train/rec.autos/7": "grüße".encode("latin-1"),
            "20news-bydate-test/alt.atheism/9": b"first",
        }
    )
    serve("20newsgroups", "20newsgroups/20news_bydate.jsonl.gz", content)
    news = fetch_20newsgroups_tasks()
    assert news.data.ravel().tolist() == ["first", "grüße"]
    assert news.split.tolist() == ["test", "train"]
    assert news.target_names == ["alt.atheism", "rec.autos"]
    assert news.id.tolist() == ["9", "7"]


def test_tables_of_an_archive_in_an_archive(serve):
    table = '"","Reaction","Days","Subject"\n"1",249.56,0,"308"\n"2",250,1,"309"\n'
    options = CATALOGUE["multilevel:sleepstudy"].public["multilevel/sleepstudy.csv"]
    inner = _archive({options.options["member"]: table.encode()})
    outer = _archive({options.options["inner"]: inner})
    serve("multilevel:sleepstudy", "multilevel/sleepstudy.csv", outer)
    sleep = fetch_multilevel("sleepstudy", verify=False)
    assert_array_equal(sleep.target, [249.56, 250])
    assert sleep.task_names == ["308", "309"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("multilevel:exam", "write.csv(mlmRev::Exam, row.names = FALSE) in R"),
        ("school", "made from: github.com/tjanez/PyMTL"),
        ("uci:boston", "Original source: http://lib.stat.cmu.edu/datasets/boston"),
    ],
)
def test_without_a_public_address_the_message_says_where_to_get_it(home, name, says):
    with pytest.raises(FileNotFoundError, match="has no public address") as caught:
        fetch_dataset(name)
    assert says in str(caught.value)


def test_the_list_says_what_can_be_fetched():
    public = {entry.name for entry in list_datasets() if entry.public}
    assert {"mnist", "20newsgroups", "uci:wine_quality"} <= public
    assert not public & {"demo", "landmine", "school", "multilevel:exam"}
