"""What is known of every real data set: size, origin, files and their checksums."""

from typing import NamedTuple

__all__ = ["CATALOGUE", "SHA256", "Entry", "describe"]

UCI = "https://archive.ics.uci.edu/"


class Entry(NamedTuple):
    """One data set.

    `rows`, `features` and `tasks` are those of the loader's default form;
    `home` is the original public address, None where it is not known; `copies`
    are the repositories that the checked files were made from.
    """

    title: str
    files: tuple[str, ...]
    rows: int
    features: int | None
    tasks: int | None
    kind: str
    home: str | None
    copies: str
    loader: str
    argument: str | None
    about: str


CATALOGUE = {
    "landmine": Entry(
        "Landmine detection",
        ("landmine/landmine.npz",),
        14820,
        9,
        29,
        "binary",
        "http://www.ee.duke.edu/~lcarin/LandmineData.zip",
        "github.com/daizhongxiang/Federated_Bayesian_Optimization",
        "fetch_landmine",
        None,
        "Radar images of 29 minefields (Xue, Liao, Carin and Krishnapuram, JMLR "
        "2007): is the object a mine (1) or clutter (0)? 6.1% are mines. Fields 0 to "
        "14 are foliated, 15 to 28 bare or desert. The 9 features (4 moment-based, "
        "3 correlation-based, an energy ratio, a spatial variance) are not labelled "
        "in the file.",
    ),
    "school": Entry(
        "School exam scores",
        ("school/school.npz",),
        15362,
        27,
        139,
        "regression",
        "http://www.bristol.ac.uk/cmm/learning/support/datasets/ilea567.zip",
        "github.com/tjanez/PyMTL, github.com/jiayuzhou/MALSAR",
        "fetch_school",
        None,
        "Exam scores of students of 139 London schools, ILEA 1985 to 1987 (Goldstein "
        "1991), coded and split by Argyriou, Evgeniou and Pontil (2008): 10 splits "
        "of 11,472 training and 3,890 test rows. Columns 3 and 4 are percentages, "
        "the others 0 or 1. The order of the levels inside a block (gender, VR band) "
        "is not stated in the source.",
    ),
    "20newsgroups": Entry(
        "20 Newsgroups, bydate version",
        ("20newsgroups/20news_bydate.jsonl.gz",),
        18846,
        None,
        None,
        "multi-class texts",
        "http://people.csail.mit.edu/jrennie/20Newsgroups/",
        "github.com/julenminer/mlnn_P65",
        "fetch_20newsgroups_tasks",
        None,
        "Messages of 20 newsgroups, headers kept, 11,314 for training and 7,532 for "
        "test. Source and target problems of transfer learning take some groups of "
        "two top categories as source and others as target.",
    ),
    "sentiment": Entry(
        "Multi-domain sentiment",
        (
            "sentiment/sentiment_5000.npz",
            "sentiment/processed_acl_labelled_df2.npz",
            "sentiment/processed_acl_vocab_df2.txt.gz",
            "sentiment/sorted_data_acl_labelled.jsonl.gz",
        ),
        27677,
        5000,
        4,
        "binary",
        "http://www.cs.jhu.edu/~mdredze/datasets/sentiment/",
        "github.com/GRAAL-Research/domain_adversarial_neural_network (5,000 terms), "
        "github.com/soj3/TransferLearning (115,700 terms), "
        "github.com/lorenzoritter/domainadaption (texts)",
        "fetch_sentiment",
        None,
        "Reviews of books, DVDs, electronics and kitchen wares: positive or negative "
        "(Blitzer, Dredze and Pereira 2007). Three versions: 5,000 terms with "
        "training and test rows and no vocabulary; 115,700 unigrams and bigrams of "
        "8,000 reviews, terms of a single document dropped; and the 8,000 texts.",
    ),
    "ocr_letters": Entry(
        "Handwritten letters",
        ("ocr_letters/ocr_letters.npz",),
        52152,
        128,
        None,
        "26 classes",
        "http://ai.stanford.edu/~btaskar/ocr/",
        "github.com/shogun-toolbox/shogun-data",
        "fetch_ocr_letters",
        None,
        "Letters of 6,877 words in 16 x 8 black and white pixels (Kassel; Taskar "
        "2003). The ten folds of the original are reduced to one flag; the writers "
        "are not recorded.",
    ),
    "usps": Entry(
        "USPS digits",
        ("usps/usps.npz",),
        9298,
        256,
        None,
        "10 classes",
        "https://hastie.su.domains/ElemStatLearn/",
        "github.com/dgkim5360/the-elements-of-statistical-learning-notebooks",
        "fetch_usps",
        None,
        "Handwritten digits of zip codes in 16 x 16 grey values between -1 and 1 "
        "(zip.train and zip.test of The Elements of Statistical Learning): 7,291 "
        "training and 2,007 test rows.",
    ),
    "mnist": Entry(
        "MNIST digits",
        ("mnist/mnist.npz",),
        70000,
        784,
        None,
        "10 classes",
        "http://yann.lecun.com/exdb/mnist/",
        "github.com/yangchenyun/ml_journey, github.com/taneishi/convnetjs",
        "fetch_mnist",
        None,
        "Handwritten digits in 28 x 28 grey values, 60,000 training and 10,000 test "
        "rows. The training images of the checked file are not bit-exact: pixels of "
        "the value 1 (some 0.05%) are 0.",
    ),
    "reuters21578": Entry(
        "Reuters-21578, distribution 1.0",
        ("reuters21578/reuters21578.jsonl.gz",),
        21578,
        None,
        None,
        "multi-label texts",
        "http://kdd.ics.uci.edu/databases/reuters21578/reuters21578.html",
        "github.com/learp/crime_classification",
        "fetch_reuters21578",
        None,
        "News of 1987 with topics, places, people, organisations and exchanges. The "
        "ModApte split has 9,603 training and 3,299 test documents.",
    ),
    "webkb": Entry(
        "WebKB, web pages of universities",
        ("webkb/webkb_raw.jsonl.gz",),
        1041,
        None,
        4,
        "multi-class texts",
        "http://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/",
        "github.com/csrgxtu/maxent",
        "fetch_webkb",
        None,
        "8,282 web pages of computer science departments, by category (student, "
        "faculty, staff, department, course, project, other) and university "
        "(Cornell, Texas, Washington, Wisconsin, others). WebKB4 is the pages of "
        "students, faculty, courses and projects.",
    ),
}


def _uci(
    name: str,
    title: str,
    file: str | tuple[str, ...],
    rows: int,
    features: int | None,
    tasks: int | None,
    kind: str,
    copies: str,
    about: str,
    home: str = UCI,
) -> None:
    files = (file,) if isinstance(file, str) else file
    CATALOGUE[f"uci:{name}"] = Entry(
        title,
        tuple(f"uci/{part}" for part in files),
        rows,
        features,
        tasks,
        kind,
        home,
        f"github.com/{copies}",
        "fetch_uci",
        name,
        about,
    )


_uci(
    "heart",
    "Statlog heart disease",
    "heart_statlog.csv",
    270,
    12,
    2,
    "binary",
    "datasets/openml-datasets",
    "Is heart disease present? Task: sex (Cai 2011, table 4.2a).",
)
_uci(
    "breast_cancer_ljubljana",
    "Breast cancer, Ljubljana",
    "breast_cancer_ljubljana.csv",
    286,
    8,
    3,
    "binary",
    "jbrownlee/Datasets",
    "Does the cancer recur? Task: age under 50, 50 to 59, 60 and over. The thesis "
    "(table 4.2b) cuts at 47 and 55, which the decades in the file do not allow. 9 "
    "cells are missing.",
)
_uci(
    "breast_cancer_wisconsin",
    "Breast cancer, Wisconsin (original)",
    "breast_cancer_wisconsin.csv",
    699,
    8,
    3,
    "binary",
    "jbrownlee/Datasets",
    "Benign (2) or malignant (4)? Task: clump thickness under 4, 4 to 5, 6 and over "
    "(Cai 2011, table 4.2c). 16 cells are missing.",
)
_uci(
    "hepatitis",
    "Hepatitis",
    "hepatitis.csv",
    155,
    18,
    2,
    "binary",
    "nom-gv/DatasetHepatitis",
    "Does the patient die (1) or live (2)? Task: histology (Cai 2011, table 4.2d). "
    "167 cells are missing.",
)
_uci(
    "boston",
    "Boston housing",
    "boston_housing.csv",
    506,
    13,
    3,
    "regression",
    "jbrownlee/Datasets",
    "Median value of homes. Task: RAD under 5, 5 to 7.5, over (Cai 2011, table 5.1), "
    "or DIS under 2.5, 2.5 to 4.5, over (table 5.2); both stay features. The column "
    "B encodes race; scikit-learn removed this data set for it.",
    home="http://lib.stat.cmu.edu/datasets/boston",
)
_uci(
    "auto_mpg",
    "Auto MPG",
    "auto_mpg.csv",
    398,
    7,
    3,
    "regression",
    "edwibedi/Auto-MPG",
    "Miles per gallon of cars. Task: cylinders under 6, 6, over 6 (Cai 2011, table "
    "5.3), which stays a feature. 6 cells are missing.",
)
_uci(
    "abalone",
    "Abalone",
    "abalone.csv",
    4177,
    7,
    3,
    "regression",
    "jbrownlee/Datasets",
    "Rings, which give the age of the snail. Task: sex M, F or I (infant); the "
    "transfer papers take male as source and female as target.",
)
_uci(
    "wine_quality",
    "Wine quality",
    ("wine_quality_red.csv", "wine_quality_white.csv"),
    6497,
    11,
    2,
    "regression",
    "jbrownlee/Datasets",
    "Quality as graded by experts, 3 to 9. Task: red or white.",
)
_uci(
    "cmc",
    "Contraceptive method choice",
    "cmc.csv",
    1473,
    8,
    2,
    "multi-class",
    "teriolx/machine-learning-datatsets",
    "Method used (1 none, 2 long-term, 3 short-term). Task: the wife's religion (1 is "
    "Islam). The transfer problem of Al-Stouhi (2013, table 5.1) predicts "
    "wife_working: target='wife_working'.",
)
_uci(
    "solar_flare",
    "Solar flares",
    ("solar_flare1.csv", "solar_flare2.csv"),
    1389,
    10,
    2,
    "binary",
    "renatopp/arff-datasets",
    "Does a C-class flare occur within 24 hours? Task: flare1 (323 rows) or flare2 "
    "(1,066 rows), the two parts of the set.",
)


def _nips(
    name: str, title: str, rows: int, features: int, copies: str, about: str
) -> None:
    file = "dexter_train.npz" if name == "dexter" else f"{name}.npz"
    CATALOGUE[f"nips2003:{name}"] = Entry(
        title,
        (f"nips2003/{file}",),
        rows,
        features,
        None,
        "binary",
        UCI,
        f"github.com/{copies}",
        "fetch_nips2003",
        name,
        about,
    )


_nips(
    "arcene",
    "Arcene, NIPS 2003 feature selection challenge",
    200,
    10000,
    "maximkfd/mashin5",
    "Cancer or not, from mass spectra: 100 training and 100 validation rows.",
)
_nips(
    "madelon",
    "Madelon, NIPS 2003 feature selection challenge",
    2600,
    500,
    "jundongl/scikit-feature",
    "Artificial, 20 of 500 features useful: 2,000 training and 600 validation rows.",
)
_nips(
    "dexter",
    "Dexter, NIPS 2003 feature selection challenge",
    300,
    20000,
    "OFAI/hub-toolbox-python3",
    "Is a text about corporate acquisitions? 300 training rows; the validation part "
    "is not in the checked file.",
)
_nips(
    "dorothea",
    "Dorothea, NIPS 2003 feature selection challenge",
    1150,
    100000,
    "wzkhan89/TOCDMB_Sourcecode",
    "Does a compound bind to thrombin? Binary features, 800 training rows (78 "
    "active) and 350 validation rows (34 active).",
)


def describe(name: str) -> str:
    """The text that a loader returns as DESCR."""
    entry = CATALOGUE[name]
    return "\n".join(
        [
            entry.title,
            "-" * len(entry.title),
            entry.about,
            "",
            f"Original source: {entry.home or 'not known'}",
            f"The checked files were made from: {entry.copies}",
            "Check the set's own terms before passing it on.",
        ]
    )


# Of the known files, by path under the data folder.
SHA256 = {
    "20newsgroups/20news_bydate.jsonl.gz": (
        "9197899151e5f51332a155147fa5223af794c80b2dfef36984cec4730e10ee94"
    ),
    "landmine/landmine.npz": (
        "4ce8c9890f1bb6631d27d18d429e9acd1363b17fa86da14a0a652e93b079a36a"
    ),
    "mnist/mnist.npz": (
        "f7046e3d577abe5172f02fafa723bd06806bcd5bde59d377083860771be0a821"
    ),
    "nips2003/arcene.npz": (
        "73fe1fe31ab2cf9b896b74c1d1a1afbb73fa83b2d0416f08ed6641fac4c61fa9"
    ),
    "nips2003/dexter_train.npz": (
        "fdf11cad847184c1691a42f89b8b5db928661c8d0af64197caa4ff00606b93a5"
    ),
    "nips2003/dorothea.npz": (
        "388c439dc6fbf50f3c56a0c901e69f2284620809badec9919cc4948786bb9554"
    ),
    "nips2003/madelon.npz": (
        "8d63bf020431eeef972110a4676d7c8599343a17e79138a2b75c258785751531"
    ),
    "ocr_letters/ocr_letters.npz": (
        "bf766733d39dcb2aa99c7b6a9a9f92f289b14550d006cd1ea382a2c09e40d52c"
    ),
    "reuters21578/reuters21578.jsonl.gz": (
        "06ae98c972e1fa4f603af40b1df55611c41d8e73009bf4b8c37704fda20999d8"
    ),
    "school/school.npz": (
        "ae3f73adadcf850452c825dd9f3e0e5753c1d043faa58d77fe002d1e9e176fb1"
    ),
    "sentiment/processed_acl_labelled_df2.npz": (
        "dc6e6ec15fc5f6c3ca07287f79e84a4eccb3d4f27c391b2f86ed36d2828e3ec2"
    ),
    "sentiment/processed_acl_vocab_df2.txt.gz": (
        "3da25b0be22bac38678485c338259598cf42b0a7ca16eec5c0809db296329dbe"
    ),
    "sentiment/sentiment_5000.npz": (
        "aa2ea13e5d883152b3c94e3fc9dcdbd78a9b9247ec8365112229133ef64eacc7"
    ),
    "sentiment/sorted_data_acl_labelled.jsonl.gz": (
        "a011b9073c13913ea0d8790a5bfde2aa1c9f396e3bd1164b555c722cadf71375"
    ),
    "uci/abalone.csv": (
        "a2daaed9c48ef860360f6438a224a2fde2576f1ebcf4f821ffe23645c229b23e"
    ),
    "uci/auto_mpg.csv": (
        "998731a41b824206169dcf84b3a91048bc8d5b833f04b6935686e91664480021"
    ),
    "uci/boston_housing.csv": (
        "d0a8dba1d66346fb31288ad7f629f78c7a9709e5d8a2b0eff718aa352bad1b48"
    ),
    "uci/breast_cancer_ljubljana.csv": (
        "1053a2d6082d11b45cd3470390ebb6431d5e0ca82041c779caa19c34a4033cd9"
    ),
    "uci/breast_cancer_wisconsin.csv": (
        "de948763c5d88824c760d93541e992b6062001d729dd46caa4d0360222d0c68f"
    ),
    "uci/cmc.csv": "e944dd136545920a8e64009f25fb626e7b7c747e17bcee3d39176982a251ecec",
    "uci/heart_statlog.csv": (
        "d7863405480643aaeafe6cd979c670a8f8d773848bb7dcfeb91ccc4b7a3b400d"
    ),
    "uci/hepatitis.csv": (
        "a07a1dafb1e90503dea3f9ac865510ec9527f006446eb8473eca761a1d45c065"
    ),
    "uci/solar_flare1.csv": (
        "9cda02f0dbeccd8c80afc16310bea64cfca497287f362c5c73f794bbc9f4e6bc"
    ),
    "uci/solar_flare2.csv": (
        "94a79f43f85f1eb8ff080ed13382528977d5db85846ad38f1cd02d411d24f2aa"
    ),
    "uci/wine_quality_red.csv": (
        "7d246d4b4b648f536ad563e90c936b3ce80b874fb8d6d2a24586f91f0daf7176"
    ),
    "uci/wine_quality_white.csv": (
        "91e7afe85ee4f6ffb59934a0db693dd5590243b7a4bea3b2b25ad0e760103caa"
    ),
    "usps/usps.npz": "1da811d5c763cb0ae4c13bdbc203a33f1946527ef1af0a4384c75c931b1f5654",
    "webkb/webkb_raw.jsonl.gz": (
        "464eac8e8b0fec8689ac34bf74ca5807b08095b985777a45bcf345482486f673"
    ),
}
