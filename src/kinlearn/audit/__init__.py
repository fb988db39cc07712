"""Does sharing help, which tasks, and by how much?

Numbers only: :mod:`kinlearn.report` draws them.
"""

from kinlearn.audit._compare import compare_sharing
from kinlearn.audit._contenders import default_contenders
from kinlearn.audit._result import SharingResult

__all__ = ["SharingResult", "compare_sharing", "default_contenders"]
