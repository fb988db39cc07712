"""What mixed models of classes and counts share: fits, tables, later rows."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kinlearn.linear.mixed._base import MixedBase, Rows
from kinlearn.linear.mixed._generalised import (
    GeneralisedFit,
    Targets,
    fit_generalised,
)
from kinlearn.linear.mixed.equations import Posterior
from kinlearn.tasks import check_total_weight
from kinlearn.utils import import_optional
from kinlearn.utils._typing import ArrayLike, Table
from kinlearn.utils._values import warn_caller

__all__ = ["GeneralisedBase"]

_UNDETERMINED = 100.0  # standard error of a coefficient, times its column's spread


class GeneralisedBase(MixedBase):
    """One linear predictor, or one for each of several classes."""

    alpha: float
    fit_intercept: bool
    tol: float
    max_iter: int
    _fits: list[GeneralisedFit]
    log_likelihood_: float
    n_parameters_: int

    def _fit_each(
        self, X: Any, codes: Sequence[np.ndarray], each: Sequence[Targets]
    ) -> None:
        """Fit the linear predictors, and keep them."""
        rows = Rows(X, list(codes))
        self._fits = []
        for targets in each:
            check_total_weight(targets.weight)
            self._fits.append(
                fit_generalised(
                    targets,
                    rows,
                    self._terms,
                    alpha=float(self.alpha),
                    intercept=self.fit_intercept,
                    tol=self.tol,
                    max_iter=self.max_iter,
                )
            )
        self._keep_sums()
        self._keep_slopes(self._kept_by_any())
        self._warn()

    def _kept_by_any(self) -> list[np.ndarray]:
        """Effects of each term that a fit has."""
        none = [np.zeros(1, dtype=np.intp)] * len(self._terms)
        each = zip(none, *(fit.kept for fit in self._fits), strict=True)
        return [np.unique(np.concatenate(kept)) for kept in each]

    def _levels_with_rows(self, k: int) -> np.ndarray:
        n = self._groupings[k].n_levels
        found = [fit.cross.ZZ[k][:, 0, 0] > 0.0 for fit in self._fits]
        return np.any(found, axis=0) if found else np.ones(n, dtype=bool)

    @property
    def _row_sums(self) -> tuple[float, float, float]:
        """Number of rows, sum of their targets, and of their squares."""
        n, total, squares = np.sum([fit.sums for fit in self._fits], axis=0)
        return float(n), float(total), float(squares)

    def _keep_sums(self) -> None:
        """Set the attributes that sum over the linear predictors."""
        fits = self._fits
        self.n_iter_ = max([1, *(fit.n_iter for fit in fits)])
        self.log_likelihood_ = float(sum(fit.log_likelihood for fit in fits))
        self.n_parameters_ = sum(fit.n_parameters for fit in fits)
        n = max((fit.sums[0] for fit in fits), default=1.0)
        deviance = -2.0 * self.log_likelihood_
        self.aic_ = 2.0 * self.n_parameters_ + deviance
        self.bic_ = float(np.log(n) * self.n_parameters_ + deviance)
        self.is_singular_ = any(fit.singular for fit in fits)
        used = np.zeros(len(self.feature_names_), dtype=bool)
        for fit in fits:
            used[fit.fixed[fit.fixed > 0] - 1] = True
        self.dropped_features_ = self.feature_names_[~used] if fits else np.array([])

    def _warn(self) -> None:
        """Warn of fits that did not end, are singular, or not determined."""
        name = type(self).__name__
        if not all(fit.converged for fit in self._fits):
            warn_caller(
                f"{name} stopped after {self.n_iter_} steps without convergence. "
                "Scale the features, choose a simpler covariance, or raise max_iter.",
                ConvergenceWarning,
            )
        loose = sorted({c for fit in self._fits for c in self._undetermined(fit)})
        if loose:
            warn_caller(
                f"The rows do not determine the coefficients of {', '.join(loose)} in "
                f"{name}: larger ones fit ever better, as where a column separates "
                "classes. Set alpha, a ridge penalty that keeps them small, or leave "
                "the columns out.",
                ConvergenceWarning,
            )
        self._warn_of_singular(
            sorted({term for fit in self._fits for term in fit.singular})
        )

    def _undetermined(self, fit: GeneralisedFit) -> list[str]:
        scale = np.append(1.0, fit.cross.basis.scale)[fit.fixed]
        error = np.sqrt(np.maximum(np.diag(fit.fixed_covariance), 0.0)) * scale
        names = np.append("the intercept", [repr(str(n)) for n in self.feature_names_])
        wide = (error > _UNDETERMINED) & (fit.fixed > 0)
        return names[fit.fixed[wide]].tolist()

    # ------------------------------------------------------------- later rows

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit, by the covariances that it has learned.

        Effects of a new task are the most likely ones given its rows. Rows of the past
        count by the quadratic approximation of their likelihood at its maximum, so
        that coefficients and effects of other tasks change a little. Covariances stay,
        as do the likelihood and criteria, and what standard errors of coefficients
        take into account: that covariances are estimated, from the rows of `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Targets; no class that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self
            The model with these tasks.
        """
        return self._take_later(X, y, sample_weight, True)

    def _take_later(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        only_new: bool,
    ) -> Self:
        check_is_fitted(self)
        later, rows, places, groupings = self._later_rows(X, y, sample_weight, only_new)
        each = self._later_targets(X, later)
        fits = [
            fit.with_later(targets, rows, groupings, places)
            for fit, targets in zip(self._fits, each, strict=True)
        ]
        self._remember_later(later)
        self._remember_groupings(groupings)
        self._fits = fits
        self._keep_coefficients()
        if not all(fit.converged for fit in fits):
            warn_caller(
                f"Effects of later rows did not converge in {type(self).__name__}. "
                "Fit anew with all rows.",
                ConvergenceWarning,
            )
        return self

    @abstractmethod
    def _later_targets(self, X: Table, later: Any) -> list[Targets]:
        """Targets of later rows, by linear predictor."""

    @abstractmethod
    def _keep_coefficients(self) -> None:
        """Set coefficients and intercepts."""

    # ------------------------------------------------------------- prediction

    def _links(self, rows: Rows) -> np.ndarray:
        """Linear predictors without offset, of shape (n_samples, n_fits)."""
        return np.stack([fit.link(rows) for fit in self._fits], axis=1)

    def _unknown_variances(self, rows: Rows) -> np.ndarray:
        """Variance of effects of unknown levels, of shape (n_samples, n_fits)."""
        return np.stack([fit.unknown_variance(rows) for fit in self._fits], axis=1)

    def _variances(self, rows: Rows) -> np.ndarray:
        """Variance of the linear predictors, of shape (n_samples, n_fits)."""
        found = [
            Posterior(fit.factor()).variance(rows.X, rows.codes) for fit in self._fits
        ]
        return np.stack(found, axis=1)

    # ----------------------------------------------------------------- tables

    def _check_effects(self) -> None:
        """Refuse tables of a model of one class, which has no effects."""
        check_is_fitted(self)
        if not self._fits:
            raise AttributeError(
                f"{type(self).__name__} was fitted to rows of one class, so that there "
                "are no effects to show. Fit to rows of two classes at least."
            )

    def _by_fit(self, tables: Sequence[Any]) -> Any:
        """The table of the one linear predictor, or all behind each other by class."""
        if len(tables) == 1:
            return tables[0]
        pandas = import_optional("pandas", extra="report", purpose="tables of effects")
        return pandas.concat(tables, keys=self._fit_names(), names=["class"])

    def _fit_names(self) -> list[Any]:
        """What the linear predictors are called, if there are several."""
        return list(range(len(self._fits)))

    @property
    def fixed_effects_(self) -> Any:
        """Intercept and coefficients with standard errors and 95 % intervals.

        A pandas frame; columns that were dropped are not in it.
        """
        self._check_effects()
        tables = []
        for fit in self._fits:
            names = np.append("intercept", self.feature_names_.astype(str))[fit.fixed]
            estimate = np.append(fit.intercept, fit.coef)[fit.fixed]
            error = np.sqrt(np.maximum(np.diag(fit.fixed_covariance), 0.0))
            tables.append(self._table_of(names, estimate, error, "fixed_effects_"))
        return self._by_fit(tables)

    @property
    def random_effects_(self) -> dict[str, Any]:
        """Effects of all levels with standard errors and 95 % intervals, by grouping.

        A dict of pandas frames, with a row for each level and effect. Standard errors
        are of effect less estimate, those of the coefficients included.
        """
        self._check_effects()
        inverses = [fit.factor().inverse() for fit in self._fits]
        out = {}
        for k, grouping in enumerate(self._groupings):
            tables = [
                self._effects_table(
                    grouping,
                    fit.terms[k],
                    fit.effects[k],
                    inverse.own[k],
                    fit.roots()[k],
                )
                for fit, inverse in zip(self._fits, inverses, strict=True)
            ]
            out[grouping.name] = self._by_fit(tables)
        return out

    @property
    def covariances_(self) -> dict[str, np.ndarray]:
        """Covariance of the effects of each grouping, on the scale of the link.

        With several classes, a matrix for each, along the first axis. Slopes that the
        rows of one class cannot tell from others have no variance there.
        """
        self._check_effects()
        out = {}
        for k, grouping in enumerate(self._groupings):
            kept = self._kept_effects[k]
            each = np.zeros((len(self._fits), len(kept), len(kept)))
            for S, fit in zip(each, self._fits, strict=True):
                root, own = fit.roots()[k], np.searchsorted(kept, fit.kept[k])
                S[np.ix_(own, own)] = root @ root.T
            out[grouping.name] = each[0] if len(each) == 1 else each
        return out

    @property
    def variance_components_(self) -> Any:
        """Variances and standard deviations of all effects, as a pandas frame.

        A row for each effect of each grouping. Covariances are in `covariances_`.
        """
        self._check_effects()
        tables = []
        for fit in self._fits:
            variances = [(root**2).sum(axis=1) for root in fit.roots()]
            tables.append(self._variances_table(fit.terms, variances))
        return self._by_fit(tables)

    @property
    def icc_(self) -> dict[str, Any]:
        """Intraclass correlation on the scale of the link, as a dict.

        The fraction of the variance that features do not explain which lies between
        levels. The variance of a row is that of the logistic distribution, or, of
        counts of mean m, log(1 + 1/m). With several classes, an array.
        """
        self._check_effects()
        out: dict[str, Any] = {}
        for k, grouping in enumerate(self._groupings):
            each = [
                fit.spreads[k] / (self._row_variance() + sum(fit.spreads))
                for fit in self._fits
            ]
            out[grouping.name] = each[0] if len(each) == 1 else np.array(each)
        return out

    @abstractmethod
    def _row_variance(self) -> float:
        """Variance of a row on the scale of the link."""
