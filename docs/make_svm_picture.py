"""Draw the picture of the guide to kernel machines: the first one of its example.

`.venv/bin/python docs/make_svm_picture.py`
"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "plot_multi_task_svm.py"
TARGET = HERE / "_static" / "svm-clinics.svg"


def main():
    """Run the example and save."""
    runpy.run_path(str(EXAMPLE))
    plt.figure(1).savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
