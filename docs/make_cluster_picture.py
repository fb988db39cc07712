"""Draw the picture of the guide to clustering, in a few seconds.

`.venv/bin/python docs/make_cluster_picture.py`: the guide's first data set, its
affinity by task and cluster, and the rows of each task in each cluster.
"""

from pathlib import Path

import matplotlib

from kinlearn.cluster import MultiTaskSymmetricNMF
from kinlearn.datasets import make_term_tasks
from kinlearn.report import ClusterAffinityDisplay, ClusterTableDisplay

matplotlib.use("svg")
import matplotlib.pyplot as plt

TARGET = Path(__file__).parent / "_static" / "clusters.svg"


def draw(X):
    """Cluster the rows and draw both displays side by side."""
    plt.rcParams["svg.hashsalt"] = "kinlearn"  # the same file from the same figures
    model = MultiTaskSymmetricNMF(task=-1, store_affinity=True, random_state=0).fit(X)
    figure, axes = plt.subplots(
        1, 2, figsize=(9, 3.8), width_ratios=(3, 2), layout="constrained"
    )
    ClusterAffinityDisplay.from_estimator(model, ax=axes[0])
    ClusterTableDisplay.from_estimator(model, ax=axes[1])
    return figure


def main():
    """Make the data, draw and save."""
    X, _ = make_term_tasks(
        4, n_samples_per_class=30, shared=0.4, focus=0.5, random_state=0
    )
    draw(X).savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
