"""What all mixed models share: parameters, groupings, terms, tables of effects."""

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kinlearn.exceptions import (
    SingularFitWarning,
    UnknownTaskWarning,
    UnusedColumnWarning,
)
from kinlearn.linear._tables import Categories, warn_of_missing
from kinlearn.linear.mixed._groupings import (
    Grouping,
    choose,
    group_keys,
    key_columns,
)
from kinlearn.linear.mixed._terms import COVARIANCES, Term
from kinlearn.tables.internal import AnyTable, find_column, open_table
from kinlearn.tasks import TaskData, TaskMixin, check_total_weight
from kinlearn.tasks.internal import LARGEST
from kinlearn.utils import import_optional
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, Table
from kinlearn.utils._values import show_values, warn_caller

__all__ = ["MixedBase", "Rows", "linear_predictor", "with_levels"]

_LEVEL = 0.95  # of the intervals in tables


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of fit or prediction: features, and the level of each row by grouping.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Features.
    codes : list of int32 arrays of shape (n_samples,)
        Levels, in the order of the groupings; -1 is unknown.
    """

    X: Any
    codes: list[np.ndarray]


def linear_predictor(
    rows: Rows,
    intercept: float,
    coef: np.ndarray,
    terms: Sequence[Term],
    effects: Sequence[np.ndarray],
) -> np.ndarray:
    """Fixed effects, and those of the rows' levels; none of unknown ones."""
    X = rows.X
    out = np.asarray(X @ coef, dtype=np.float64).ravel() + intercept
    for term, own, codes in zip(terms, effects, rows.codes, strict=True):
        # the last row, of zeros, is that of unknown levels
        b = np.vstack([own, np.zeros(term.n_effects)])
        out += b[codes, 0]
        for a, column in enumerate(term.columns, start=1):
            x = X[:, [column]]
            x = x.toarray() if sp.issparse(x) else x
            out += b[codes, a] * x[:, 0]
    return out


def with_levels(
    terms: Sequence[Term], groupings: Sequence[Grouping]
) -> tuple[Term, ...]:
    """The terms with as many levels as their groupings have now."""
    return tuple(
        replace(term, n_levels=grouping.n_levels)
        for term, grouping in zip(terms, groupings, strict=True)
    )


class MixedBase(TaskMixin, BaseEstimator, metaclass=ABCMeta):
    """Parameters, groupings and tables of effects of all mixed models."""

    _largest = LARGEST
    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        "groups": [list, tuple, None],
        "slopes": [StrOptions({"all"}), list, tuple, Mapping, None],
        "covariance": [StrOptions(set(COVARIANCES)), Mapping],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    groups: Any
    slopes: Any
    covariance: Any
    rank: int
    unknown_task: str
    coef_: np.ndarray
    intercept_: Any
    _groupings: list[Grouping]
    _terms: list[Term]
    _effects: list[np.ndarray]
    _categories: Categories

    def _fit_rows(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None, labels: str
    ) -> tuple[TaskData, Rows]:
        """Check training data, read the groupings, and set up the random terms."""
        keys = group_keys(self.groups)
        data = self._fit_data(
            X,
            y,
            sample_weight,
            labels=labels,
            groups=[column for key in keys for column in key_columns(key)],
            need_features=self.task is None and not keys,
        )
        check_total_weight(data.sample_weight)
        warn_of_missing(self.table_encoder_)
        self._categories = Categories.find(data)
        table = open_table(X)
        groupings, codes = [], []
        names: list[Any] = []
        if self.task is not None:
            column: Any = data.columns.task
            name = str(data.columns.all_names[column])
            groupings.append(Grouping.of_tasks(name, column, data.tasks))
            codes.append(data.task)
            names.append(self.task)
        for key in keys:
            grouping, levels = Grouping.read(table, key)
            groupings.append(grouping)
            codes.append(levels)
            names.append(key)
        self._check_groupings(groupings, names)
        self._terms = [
            self._term(table, data, grouping, key, is_first=i == 0)
            for i, (grouping, key) in enumerate(zip(groupings, names, strict=True))
        ]
        self._asked_terms = self._terms
        self._groupings = groupings
        return data, Rows(data.X, codes)

    def _check_groupings(self, groupings: list[Grouping], keys: list[Any]) -> None:
        names = [grouping.name for grouping in groupings]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(
                f"The grouping {twice[0]!r} is given twice. The task is a grouping "
                "already; leave it out of groups."
            )
        if (
            self.task is None
            and len(groupings) != 1
            and not (isinstance(self.slopes, Mapping) or self.slopes is None)
        ):
            if groupings:
                raise ValueError(
                    f"slopes={self.slopes!r} does not say which grouping's they are, "
                    f"of {show_values(names)}. Without a task, name the grouping: "
                    'slopes={"g": ["x"]}.'
                )
            raise ValueError(
                f"slopes={self.slopes!r} needs a grouping whose slopes vary; there is "
                "neither a task nor one in groups. Set task or groups, or leave out "
                "slopes."
            )
        for option in ("slopes", "covariance"):
            given = getattr(self, option)
            if not isinstance(given, Mapping):
                continue
            for key in given:
                if isinstance(key, tuple):  # files of models have no such keys
                    name = ":".join(map(str, key))
                    raise TypeError(
                        f"{option} has the key {key!r}; write the name of that "
                        f"grouping instead: {name!r}."
                    )
            strange = [k for k in given if k not in names and k not in keys]
            if strange:
                raise ValueError(
                    f"{option} names {show_values(strange)}, which is neither the "
                    f"task nor in groups. There are {show_values(names)}."
                )

    def _term(
        self,
        table: AnyTable,
        data: TaskData,
        grouping: Grouping,
        key: Any,
        is_first: bool,
    ) -> Term:
        slopes = self.slopes
        if isinstance(slopes, Mapping):
            slopes = choose(slopes, key, grouping.name, None)
        elif not is_first:  # those not named by grouping are the task's, or only one's
            slopes = None
        covariance = choose(self.covariance, key, grouping.name, "full")
        if covariance not in COVARIANCES:
            raise ValueError(
                f"The covariance of {grouping.name!r} must be one of "
                f"{show_values(COVARIANCES)}; got {covariance!r}."
            )
        columns = self._slope_columns(table, data, slopes)
        return Term(
            grouping.name, grouping.n_levels, columns, covariance, int(self.rank)
        )

    def _slope_columns(
        self, table: AnyTable, data: TaskData, slopes: Any
    ) -> tuple[int, ...]:
        """Features whose slopes vary, as columns of the numeric X."""
        if slopes is None:
            return ()
        if isinstance(slopes, str) and slopes == "all":
            return tuple(range(data.X.shape[1]))
        if not isinstance(slopes, list | tuple):
            raise TypeError(
                'slopes must be "all", a list of columns, or a mapping from groupings '
                f"to these; got {slopes!r}."
            )
        found: list[int] = []
        constant: list[Any] = []
        features = data.columns.features
        for key in slopes:
            position = find_column(key, table, "Slope")
            if position not in features:
                raise ValueError(
                    f"Column {key!r} is the task or a group, which has no slope. "
                    "Leave it out of slopes."
                )
            place = features.index(position)
            if data.encoder is None:
                found.append(place)
            else:
                own = np.flatnonzero(data.encoder.origin_ == place).tolist()
                constant += [] if own else [key]
                found += own
        if constant:
            warn_caller(
                f"Slopes of {show_values(constant)} are left out of "
                f"{type(self).__name__}: the columns have the same value in all rows, "
                "or none. Leave them out of slopes.",
                UnusedColumnWarning,
            )
        return tuple(dict.fromkeys(found))

    def _new_rows(self, X: Table) -> Rows:
        """Check rows to predict for."""
        rows = self._predict_data(X)
        table = open_table(X)
        codes = []
        for i, grouping in enumerate(self._groupings):
            if i == 0 and self.task is not None:
                codes.append(rows.task)
            else:
                name = type(self).__name__
                codes.append(grouping.levels(table, self.unknown_task, name))
        self._drop_levels_without_rows(codes)
        return Rows(self._categories.with_averages(rows.X), codes)

    def _drop_levels_without_rows(self, codes: list[np.ndarray]) -> None:
        """Levels that had no weight in fit are unknown: -1, and a warning or error."""
        for k, grouping in enumerate(self._groupings):
            counted = self._levels_with_rows(k)
            empty = (codes[k] >= 0) & ~counted[codes[k]]
            if not empty.any():
                continue
            if self.unknown_task != "share":
                levels = grouping.labels[np.unique(codes[k][empty])]
                message = (
                    f"{type(self).__name__} saw levels {show_values(levels)} of "
                    f"{grouping.name!r} in rows of weight 0 alone, so that it knows "
                    "nothing of their effects. "
                )
                if self.unknown_task == "error":
                    raise ValueError(
                        f"{message}Give their rows weight, drop them, or set "
                        'unknown_task="share".'
                    )
                warn_caller(
                    f"{message}They are predicted as unknown ones; set "
                    'unknown_task="share" if that is meant.',
                    UnknownTaskWarning,
                )
            codes[k] = np.where(empty, -1, codes[k]).astype(np.int32)

    def _levels_with_rows(self, k: int) -> np.ndarray:
        """Which levels of a grouping have rows of positive weight."""
        raise NotImplementedError

    def _keep_slopes(self, kept: Sequence[np.ndarray]) -> None:
        """Remember effects that rows tell apart; of `_terms` as they were asked for."""
        self._kept_effects = list(kept)
        self.dropped_slopes_ = {}
        for term, effects in zip(self._asked_terms, kept, strict=True):
            left = np.setdiff1d(np.arange(1, term.n_effects), effects) - 1
            columns = np.array(term.columns, dtype=np.intp)
            self.dropped_slopes_[term.name] = self.feature_names_[columns[left]]
            lost = self._lost_columns(columns, left)
            if len(lost):
                warn_caller(
                    f"Slopes of {show_values(lost)} by {term.name!r} are left out of "
                    f"{type(self).__name__}: the columns are constant, or explained by "
                    "others, so that rows cannot tell their effects from those of the "
                    "others. Leave them out of slopes.",
                    UnusedColumnWarning,
                )

    def _lost_columns(self, columns: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Columns of X of which no slope remains; categories always lose one."""
        if self.table_encoder_ is None:
            return self.feature_names_[columns[left]]
        origin = self.table_encoder_.origin_[columns]
        lost = np.setdiff1d(origin[left], np.delete(origin, left))
        return self._columns.all_names[np.array(self._columns.features)[lost]]

    def _later_rows(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        only_new: bool,
    ) -> tuple[Any, Rows, list[np.ndarray], list[Grouping]]:
        """Check rows that come after fit; also places of old levels, and groupings."""
        later = self._later_data(X, y, sample_weight, only_new=only_new)
        table = open_table(X)
        codes, places, groupings = [], [], []
        for i, grouping in enumerate(self._groupings):
            if i == 0 and self.task is not None:
                wide = Grouping.of_tasks(
                    grouping.name, grouping.columns[0], later.tasks
                )
                place, levels = later.place, later.task
            else:
                wide, place, levels = grouping.extended(table)
            codes.append(levels)
            places.append(place)
            groupings.append(wide)
        X = self._categories.with_averages(later.X)
        return later, Rows(X, codes), places, groupings

    def _remember_groupings(self, groupings: list[Grouping]) -> None:
        self._groupings = groupings
        self._terms = list(with_levels(self._terms, groupings))

    def _linear_predictor(self, rows: Rows) -> np.ndarray:
        """Fixed effects, and those of the rows' levels; none of unknown ones."""
        return linear_predictor(
            rows, self.intercept_, self.coef_, self._terms, self._effects
        )

    def _effect_names(self, term: Term) -> list[str]:
        return ["intercept", *(str(self.feature_names_[c]) for c in term.columns)]

    def _table_of(
        self, index: Any, estimate: np.ndarray, error: np.ndarray, purpose: str
    ) -> Any:
        """Estimates, standard errors and 95 % intervals as a pandas frame."""
        pandas = import_optional("pandas", extra="report", purpose=purpose)
        half = norm.ppf(0.5 + _LEVEL / 2) * error
        columns = {
            "estimate": estimate,
            "standard_error": error,
            "low": estimate - half,
            "high": estimate + half,
        }
        return pandas.DataFrame(columns, index=index)

    def _effects_table(
        self,
        grouping: Grouping,
        term: Term,
        effects: np.ndarray,
        inverse: np.ndarray,
        root: np.ndarray,
    ) -> Any:
        """Effects of all levels, from inverses by level and the covariance's root."""
        pandas = import_optional("pandas", extra="report", purpose="random_effects_")
        spread = np.einsum("ab,nbc,ac->na", root, inverse, root)
        index = pandas.MultiIndex.from_product(
            [grouping.labels, self._effect_names(term)], names=["level", "effect"]
        )
        error = np.sqrt(np.maximum(spread, 0.0)).ravel()
        return self._table_of(index, effects.ravel(), error, "random_effects_")

    def _variances_table(
        self,
        terms: Sequence[Term],
        variances: Sequence[np.ndarray],
        residual: float | None = None,
    ) -> Any:
        """Variances and standard deviations of all effects, and of the residual."""
        pandas = import_optional(
            "pandas", extra="report", purpose="variance_components_"
        )
        index = [(t.name, name) for t in terms for name in self._effect_names(t)]
        values = [np.zeros(0), *variances]
        if residual is not None:
            index.append(("residual", ""))
            values.append(np.array([residual]))
        variance = np.concatenate(values)
        return pandas.DataFrame(
            {"variance": variance, "standard_deviation": np.sqrt(variance)},
            index=pandas.MultiIndex.from_tuples(index, names=["grouping", "effect"]),
        )

    def _warn_of_singular(self, names: Sequence[str], hint: str = "") -> None:
        """Warn of terms without variance, if there are any."""
        if names:
            warn_caller(
                f"The fit of {type(self).__name__} is singular: effects of "
                f"{', '.join(map(repr, names))} have no variance, or are combinations "
                "of each other. Predictions are valid; tests and intervals of these "
                "effects are not. Leave out slopes or groupings, or choose a simpler "
                f"covariance.{hint}",
                SingularFitWarning,
            )

    @staticmethod
    def _check_level(level: float) -> None:
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")

    def _check_effects(self) -> None:
        """Refuse tables of effects where there are none."""
        check_is_fitted(self)

    @property
    def fixed_effects_(self) -> Any:
        """Intercept and coefficients with standard errors and 95 % intervals.

        A pandas frame; columns that were dropped are not in it.
        """
        self._check_effects()
        return self._fixed_table()

    @property
    def random_effects_(self) -> dict[str, Any]:
        """Effects of all levels with standard errors and 95 % intervals, by grouping.

        A dict of pandas frames, with a row for each level and effect. Standard errors
        are of effect less estimate, those of the coefficients included.
        """
        self._check_effects()
        return self._random_tables()

    @property
    def variance_components_(self) -> Any:
        """Variances and standard deviations of all effects, as a pandas frame.

        A row for each effect of each grouping, and, of numbers, one for the residual.
        Covariances are in `covariances_`.
        """
        self._check_effects()
        return self._components_table()

    @abstractmethod
    def _fixed_table(self) -> Any:
        """The table of the fixed effects."""

    @abstractmethod
    def _random_tables(self) -> dict[str, Any]:
        """Tables of random effects, by grouping."""

    @abstractmethod
    def _components_table(self) -> Any:
        """The table of variances."""

    @property
    def covariances_(self) -> dict[str, np.ndarray]:
        """Covariance of the effects of each grouping, in units of X and y."""
        check_is_fitted(self)
        names = [grouping.name for grouping in self._groupings]
        return dict(zip(names, self._term_covariances(), strict=True))

    def _term_covariances(self) -> list[np.ndarray]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
