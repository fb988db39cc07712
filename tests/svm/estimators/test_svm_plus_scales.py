"""What the warning about scales advises works, without privileged columns too."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kinlearn
from kinlearn.exceptions import FeatureScaleWarning
from kinlearn.svm import SVMPlusClassifier, SVMPlusRegressor


@pytest.mark.filterwarnings("ignore:.*stopped after")  # for want of the scaler
@pytest.mark.parametrize("cls", [SVMPlusClassifier, SVMPlusRegressor])
def test_the_advice_about_scales_works_without_privileged_columns(cls):
    rng = np.random.default_rng(0)
    old = pd.DataFrame({"a": rng.normal(size=60), "b": 1e6 * rng.normal(size=60)})
    old["p"], old["q"] = rng.normal(size=(2, 60))
    y = (old["a"] > 0).astype(int)
    model = cls(kernel="linear", privileged=["p", "q"], max_iter=10_000)
    with pytest.warns(FeatureScaleWarning, match="keep_task") as caught:
        model.fit(old, y)
    advice = re.search(r"for example with (.*)\.$", str(caught[0].message))[1]
    scaler = eval(advice, {"kinlearn": kinlearn, "StandardScaler": StandardScaler})
    pipeline = make_pipeline(scaler, model).fit(old, y)
    assert (pipeline.predict(old[["a", "b"]]) == pipeline.predict(old)).all()
