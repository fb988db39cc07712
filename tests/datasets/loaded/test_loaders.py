"""Every loader on a small file of the real one's format."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from kinlearn.datasets import (
    fetch_20newsgroups_tasks,
    fetch_landmine,
    fetch_mnist,
    fetch_nips2003,
    fetch_ocr_letters,
    fetch_reuters21578,
    fetch_school,
    fetch_sentiment,
    fetch_usps,
    fetch_webkb,
)
from kinlearn.tasks import task_codes


def column(X, j):
    return X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j]


# --- landmine and school


def test_landmine(landmine):
    _, arrays = landmine
    mines = fetch_landmine()
    assert mines.data.dtype == np.float64
    assert_array_equal(mines.data[:, :-1], arrays["X"])
    assert_array_equal(mines.data[:, -1], arrays["task"])
    assert_array_equal(mines.target, arrays["y"])
    assert mines.task == -1
    assert mines.task_names == [0, 1, 2]
    assert "minefields" in mines.DESCR
    assert "lcarin" in mines.DESCR
    frame = fetch_landmine(as_frame=True)
    assert frame.task == "field"
    assert list(frame.frame) == [*frame.feature_names, "field", "mine"]
    assert_array_equal(frame.data.to_numpy(), mines.data)
    X, y = fetch_landmine(as_frame=True, return_X_y=True)
    pd.testing.assert_frame_equal(X, frame.data)
    pd.testing.assert_series_equal(y, frame.target)


def test_school_with_its_splits(put):
    X = np.arange(30, dtype=np.uint8).reshape(10, 3)
    X[:, -1] = 1
    mask = np.zeros((2, 10), dtype=bool)
    mask[0, [0, 5]] = True
    mask[1, [9]] = True
    put(
        "school/school.npz",
        X=X,
        y=np.arange(10, 20, dtype=np.uint8),
        task=np.repeat([0, 1], 5).astype(np.int16),
        test_mask=mask,
        feature_names=np.array(["year", "share", "bias"]),
    )
    school = fetch_school()
    assert school.feature_names == ["year", "share"]
    assert_array_equal(school.data[:, :2], X[:, :2])
    assert_array_equal(school.data[:, 2], np.repeat([0, 1], 5))
    assert school.target.dtype == np.float64
    (train, test), (_, last) = school.splits
    assert_array_equal(test, [0, 5])
    assert_array_equal(train, [1, 2, 3, 4, 6, 7, 8, 9])
    assert_array_equal(last, [9])
    assert fetch_school(bias=True).data.shape == (10, 4)
    assert list(fetch_school(as_frame=True).data) == ["year", "share", "school"]


# --- NIPS 2003


@pytest.mark.parametrize("name", ["arcene", "madelon"])
def test_dense_sets_of_nips2003(put, name):
    X = np.arange(40, dtype=np.uint16).reshape(8, 5)
    y = np.array([-1, 1] * 4, dtype=np.int8)
    put(
        f"nips2003/{name}.npz",
        X_train=X[:5],
        y_train=y[:5],
        X_valid=X[5:],
        y_valid=y[5:],
    )
    bunch = fetch_nips2003(name)
    assert_array_equal(bunch.data, X)
    assert bunch.data.dtype == np.float64
    assert_array_equal(bunch.target, [0, 1] * 4)
    assert_array_equal(bunch.split, ["train"] * 5 + ["valid"] * 3)
    assert bunch.task is None
    assert fetch_nips2003(name, as_frame=True).frame.shape == (8, 6)


def test_sparse_sets_of_nips2003(put):
    dense = np.array([[0, 3, 0], [1, 0, 0], [0, 0, 2]])
    stored = sp.csr_array(dense)
    put(
        "nips2003/dexter_train.npz",
        data=stored.data.astype(np.int16),
        indices=stored.indices.astype(np.int16),
        indptr=stored.indptr,
        shape=np.array([3, 3]),
        y_train=np.array([1, -1, 1], dtype=np.int8),
    )
    put(
        "nips2003/dorothea.npz",
        indices_train=np.array([0, 2, 1]),
        indptr_train=np.array([0, 2, 3]),
        y_train=np.array([-1, 1]),
        indices_valid=np.array([3]),
        indptr_valid=np.array([0, 1]),
        y_valid=np.array([1]),
        n_features=np.array(4),
    )
    dexter = fetch_nips2003("dexter")
    assert_array_equal(dexter.data.toarray(), dense)
    assert_array_equal(dexter.target, [1, 0, 1])
    assert_array_equal(dexter.split, ["train"] * 3)
    dorothea = fetch_nips2003("dorothea")
    expected = [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert_array_equal(dorothea.data.toarray(), expected)
    assert_array_equal(dorothea.target, [0, 1, 1])
    assert_array_equal(dorothea.split, ["train", "train", "valid"])
    with pytest.raises(ValueError, match="not offered for sparse features"):
        fetch_nips2003("dexter", as_frame=True)
    with pytest.raises(ValueError, match="'arcene', 'madelon'"):
        fetch_nips2003("gisette")


# --- letters and digits


@pytest.fixture
def letters(put):
    y = np.array([2, 4, 0, 2, 6, 0, 14], dtype=np.uint8)  # c e a c g a o
    X = np.arange(7 * 4, dtype=np.uint8).reshape(7, 4)
    put(
        "ocr_letters/ocr_letters.npz",
        X=X,
        y=y,
        word_id=np.arange(7, dtype=np.int16),
        in_train_fold=np.arange(7) < 3,
    )
    return X, y


@pytest.fixture(params=[("usps", fetch_usps), ("mnist", fetch_mnist)])
def digits(put, request):
    name, fetch = request.param
    y = np.array([0, 1, 2, 1, 0, 3, 9, 8], dtype=np.uint8)
    X = np.arange(8 * 4, dtype=np.float32).reshape(8, 4)
    put(
        f"{name}/{name}.npz",
        X_train=X[:6],
        y_train=y[:6],
        X_test=X[6:],
        y_test=y[6:],
    )
    return fetch, X, y


def test_letters_without_tasks(letters):
    X, y = letters
    bunch = fetch_ocr_letters()
    assert bunch.data.dtype == np.float32
    assert_array_equal(bunch.data, X)
    assert_array_equal(bunch.target, y)
    assert bunch.task is None
    assert bunch.target_names[2] == "c"
    assert_array_equal(bunch.word, np.arange(7))
    assert bunch.in_train_fold.sum() == 3


def test_letters_in_pairs(letters):
    X, _ = letters
    bunch = fetch_ocr_letters(tasks=["ce", ("a", "g"), "ao"])
    assert bunch.task_names == ["c/e", "a/g", "a/o"]
    assert_array_equal(bunch.row, [0, 1, 3, 2, 4, 5, 2, 5, 6])
    assert_array_equal(bunch.data[:, :-1], X[bunch.row])
    assert_array_equal(bunch.data[:, -1], [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert_array_equal(bunch.target, [1, 0, 1, 1, 0, 1, 1, 1, 0])
    assert_array_equal(bunch.word, bunch.row)
    frame = fetch_ocr_letters(tasks=["ce"], as_frame=True)
    assert list(frame.data["task"]) == ["c/e"] * 3


def test_one_letter_against_the_rest(letters):
    bunch = fetch_ocr_letters(tasks=["a", "g"])
    assert bunch.task_names == ["a/rest", "g/rest"]
    assert len(bunch.target) == 14
    assert_array_equal(bunch.target[:7], [0, 0, 1, 0, 0, 1, 0])


def test_published_letter_pairs(letters):
    bunch = fetch_ocr_letters(tasks="published")
    assert bunch.task_names == ["c/e", "g/y", "m/n", "a/g", "a/o", "f/t", "h/n"]


def test_digits_and_their_parts(digits):
    fetch, X, y = digits
    assert_array_equal(fetch().data, X)
    assert_array_equal(fetch().split, ["train"] * 6 + ["test"] * 2)
    assert_array_equal(fetch(subset="train").target, y[:6])
    assert_array_equal(fetch(subset="test").data, X[6:])
    bunch = fetch(tasks=[(0, 1), 9])
    assert bunch.task_names == ["0/1", "9/rest"]
    assert_array_equal(bunch.row, [0, 1, 3, 4, *range(8)])
    assert_array_equal(bunch.target, [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0])
    assert_array_equal(bunch.split[-2:], ["test", "test"])


def test_published_digit_tasks(digits):
    fetch, _, _ = digits
    names = fetch(tasks="published").task_names
    if fetch is fetch_usps:
        assert names == [f"{d}/{d + 1}" for d in range(9)]
    else:
        assert names == [f"{d}/rest" for d in (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)]


def test_rows_are_drawn_for_each_task(digits):
    fetch, X, _ = digits
    bunch = fetch(tasks=[0, 1, 2], n_samples_per_task=5, random_state=0)
    assert_array_equal(np.bincount(bunch.data[:, -1].astype(int)), [5, 5, 5])
    assert all(len(set(bunch.row[t * 5 : t * 5 + 5])) == 5 for t in range(3))
    assert_array_equal(bunch.data[:, :-1], X[bunch.row])
    again = fetch(tasks=[0, 1, 2], n_samples_per_task=5, random_state=0)
    assert_array_equal(again.row, bunch.row)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tasks": "pairs"}, "tasks must be one of 'published'"),
        ({"tasks": []}, "tasks is empty"),
        ({"tasks": [(1, 2, 3)]}, r"tasks\[0\] must be one of the labels"),
        ({"tasks": [(0, 1), 11]}, r"tasks\[1\] must be one of the labels"),
        ({"tasks": [(4, 4)]}, "same label twice"),
        ({"tasks": [(0, 1)], "n_samples_per_task": 9}, r"tasks\[0\] has 4 rows"),
        ({"n_samples_per_task": 9}, "needs tasks="),
        ({"subset": "valid"}, "subset must be one of"),
    ],
)
def test_wrong_tasks_of_digits(digits, wrong, message):
    fetch, _, _ = digits
    with pytest.raises(ValueError, match=message):
        fetch(**wrong)


# --- texts


def test_newsgroups_with_all_groups(newsgroups):
    _, rows = newsgroups
    news = fetch_20newsgroups_tasks()
    assert news.data.shape == (18, 1)
    assert list(news.data[:, 0]) == [row["text"] for row in rows]
    assert news.task is None
    groups = np.array(news.target_names)[news.target]
    assert_array_equal(groups, [row["group"] for row in rows])
    assert_array_equal(news.group, groups)
    frame = fetch_20newsgroups_tasks(as_frame=True)
    assert list(frame.frame) == ["text", "group"]


def test_newsgroups_as_source_and_target(newsgroups):
    news = fetch_20newsgroups_tasks("rec-talk")
    assert news.data.shape == (16, 2)
    assert news.task_names == ["source", "target"]
    assert news.target_names == ["rec", "talk"]
    target = {
        "rec.sport.baseball",
        "rec.sport.hockey",
        "talk.politics.mideast",
        "talk.religion.misc",
    }
    assert_array_equal(news.data[:, 1], [group in target for group in news.group])
    tasks, codes = task_codes(news.data, news.task)
    assert_array_equal(tasks[codes], news.data[:, 1].astype(int))
    assert_array_equal(news.target, [group.startswith("talk") for group in news.group])
    tasks, _ = task_codes(
        fetch_20newsgroups_tasks("rec-talk", as_frame=True).data, "task"
    )
    assert list(tasks) == ["source", "target"]
    train = fetch_20newsgroups_tasks("rec-talk", subset="train")
    assert len(train.target) == 8
    assert set(train.split) == {"train"}


def test_newsgroups_as_counts(newsgroups):
    news = fetch_20newsgroups_tasks("rec-talk", features="counts", min_df=3)
    terms = {name: j for j, name in enumerate(news.feature_names)}
    # "word0" is in 2 messages only, "comp" in none of these
    assert sorted(terms) == ["common", "from", "grüße", "rec", "talk"]
    assert news.data.shape == (16, 6)
    assert_array_equal(column(news.data, terms["talk"]), news.target)
    assert_array_equal(column(news.data, terms["grüße"]), 1)
    assert_array_equal(
        column(news.data, -1), fetch_20newsgroups_tasks("rec-talk").data[:, 1]
    )
    with pytest.raises(ValueError, match="Lower min_df"):
        fetch_20newsgroups_tasks(features="counts", min_df=100)
    with pytest.raises(ValueError, match="min_df must be at least 1"):
        fetch_20newsgroups_tasks(features="counts", min_df=0)
    with pytest.raises(ValueError, match="'text', 'counts'"):
        fetch_20newsgroups_tasks(features="tfidf")


@pytest.fixture
def sentiment(put):
    dense = np.array([[0, 2], [1, 0], [0, 1], [3, 0]])
    stored = sp.csr_array(dense)
    common = {
        "data": stored.data,
        "indices": stored.indices.astype(np.int16),
        "indptr": stored.indptr.astype(np.int64),
        "shape": np.array(dense.shape),
        "y": np.array([1, -1, 1, -1], dtype=np.int8),
        "task": np.array([0, 0, 1, 1], dtype=np.int8),
        "domains": np.array(["books", "dvd"]),
    }
    put(
        "sentiment/sentiment_5000.npz",
        **common,
        split=np.array(["train", "test", "train", "test"]),
    )
    put("sentiment/processed_acl_labelled_df2.npz", **common)
    put("sentiment/processed_acl_vocab_df2.txt.gz", "good\nnot_bad")
    rows = [
        {
            "domain": domain,
            "label": label,
            "rating": rating,
            "unique_id": f"{domain}:{label}",
            "title": "T",
            "text": f"{label} {domain}",
        }
        for domain in ("books", "dvd")
        for label, rating in (("positive", "5.0"), ("negative", "1.0"))
    ]
    put("sentiment/sorted_data_acl_labelled.jsonl.gz", rows)
    return dense


@pytest.mark.parametrize("version", ["terms5000", "bigrams"])
def test_sentiment_counts(sentiment, version):
    reviews = fetch_sentiment(version)
    assert_array_equal(reviews.data.toarray()[:, :-1], sentiment)
    assert_array_equal(column(reviews.data, -1), [0, 0, 1, 1])
    assert_array_equal(reviews.target, [1, 0, 1, 0])
    assert reviews.task_names == ["books", "dvd"]
    names = {"terms5000": ["term0", "term1"], "bigrams": ["good", "not_bad"]}
    assert reviews.feature_names == names[version]
    with pytest.raises(ValueError, match="not offered for sparse features"):
        fetch_sentiment(version, as_frame=True)


def test_sentiment_parts(sentiment):
    train = fetch_sentiment(subset="train")
    assert_array_equal(train.data.toarray()[:, :-1], sentiment[[0, 2]])
    assert_array_equal(train.target, [1, 1])
    assert_array_equal(train.split, ["train", "train"])
    with pytest.raises(ValueError, match="no training and test part"):
        fetch_sentiment("text", subset="train")


def test_sentiment_texts(sentiment):
    reviews = fetch_sentiment("text", as_frame=True)
    assert list(reviews.data["text"]) == [
        "positive books",
        "negative books",
        "positive dvd",
        "negative dvd",
    ]
    assert list(reviews.data["domain"]) == ["books", "books", "dvd", "dvd"]
    assert_array_equal(reviews.target, [1, 0, 1, 0])
    assert_array_equal(reviews.rating, [5, 1, 5, 1])


@pytest.fixture
def webkb(put):
    rows = [
        {
            "id": f"http:^^{university}^{category}",
            "category": category,
            "university": university,
            "html": f"Server: X\r\n\r\n<html><b>{category}</b> body of page</html>",
        }
        for university in ("cornell", "texas", "washington", "wisconsin", "misc")
        for category in ("student", "faculty", "course", "project", "other")
    ]
    put("webkb/webkb_raw.jsonl.gz", rows)
    return rows


def test_webkb_problems(webkb):
    pages = fetch_webkb()
    assert pages.data.shape == (16, 2)
    assert pages.target_names == ["student", "faculty", "course", "project"]
    assert_array_equal(np.array(pages.target_names)[pages.target], pages.category)
    assert pages.task_names == ["cornell", "texas", "washington", "wisconsin"]
    assert_array_equal(pages.data[:, -1], np.repeat([0, 1, 2, 3], 4))
    two = fetch_webkb("personal-project")
    assert_array_equal(two.target, np.isin(two.category, ["course", "project"]))
    assert two.target_names == ["personal", "project"]
    assert fetch_webkb("all").data.shape == (20, 2)
    assert fetch_webkb("all", misc=True).data.shape == (25, 2)
    frame = fetch_webkb(as_frame=True)
    assert list(frame.frame) == ["text", "university", "category"]


def test_webkb_counts_leave_out_header_and_tags(webkb):
    pages = fetch_webkb(features="counts", min_df=1)
    # "other" pages are not loaded
    expected = ["body", "course", "faculty", "of", "page", "project", "student"]
    assert pages.feature_names == expected
    assert "Server" in fetch_webkb().data[0, 0]


@pytest.fixture
def reuters(put):
    def row(newid, split, has_topics, **labels):
        empty = {"topics": [], "places": [], "people": [], "orgs": [], "exchanges": []}
        return {
            "newid": newid,
            "oldid": newid,
            "lewissplit": split,
            "cgisplit": "",
            "has_topics": has_topics,
            "date": "1987",
            "title": f"title{newid}",
            "body": "" if newid == 3 else f"body{newid}",
            **empty,
            **labels,
        }

    rows = [
        row(1, "TRAIN", "YES", topics=["cocoa"], places=["usa"]),
        row(2, "TEST", "YES", topics=["acq", "earn"], orgs=["imf"]),
        row(3, "NOT-USED", "YES", people=["volcker"]),
        row(4, "TRAIN", "NO", orgs=["gatt"], people=["yeutter"]),
    ]
    put("reuters21578/reuters21578.jsonl.gz", rows)


def test_reuters(reuters):
    news = fetch_reuters21578()
    assert list(news.data[:, 0]) == [
        "title1\nbody1",
        "title2\nbody2",
        "title3",
        "title4\nbody4",
    ]
    assert list(news.target) == [["cocoa"], ["acq", "earn"], [], []]
    assert list(news.split) == ["train", "test", "unused", "unused"]
    assert news.task is None
    assert_array_equal(fetch_reuters21578(subset="train").id, [1])
    assert_array_equal(fetch_reuters21578(subset="test").id, [2])
    assert fetch_reuters21578(as_frame=True).frame.shape == (4, 2)


def test_reuters_problems(reuters):
    news = fetch_reuters21578("orgs-people")
    assert_array_equal(news.id, [2, 3])  # 4 has both, 1 has neither
    assert_array_equal(news.target, [0, 1])
    assert news.target_names == ["orgs", "people"]
    counted = fetch_reuters21578("orgs-people", features="counts", min_df=1)
    assert counted.feature_names == ["body2", "title2", "title3"]
    with pytest.raises(ValueError, match="orgs-people"):
        fetch_reuters21578("people-orgs")
