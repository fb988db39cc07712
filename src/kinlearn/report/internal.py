"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.report.page import model_fragment, result_fragment, with_diagram

__all__ = ["model_fragment", "result_fragment", "with_diagram"]
