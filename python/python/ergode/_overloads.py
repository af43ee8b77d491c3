"""Types of fields: what form the result has for what form of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas
    import xarray

    from ._ensemble import Ensemble

    Values: TypeAlias = NDArray[np.float64]
    #: States that give an array.
    States: TypeAlias = NDArray[Any] | Sequence[Any] | float | Ensemble


class FieldMethod(Protocol):
    """A vector or a matrix at each state, of the form of the states."""

    @overload
    def __call__(self, x: States, return_std: Literal[False] = False, *, t: Any = None) -> Values: ...
    @overload
    def __call__(self, x: States, return_std: Literal[True], *, t: Any = None) -> tuple[Values, Values]: ...
    @overload
    def __call__(
        self, x: pandas.DataFrame, return_std: Literal[False] = False, *, t: Any = None
    ) -> pandas.DataFrame: ...
    @overload
    def __call__(
        self, x: pandas.DataFrame, return_std: Literal[True], *, t: Any = None
    ) -> tuple[pandas.DataFrame, pandas.DataFrame]: ...
    @overload
    def __call__(
        self, x: pandas.Series[Any], return_std: Literal[False] = False, *, t: Any = None
    ) -> pandas.Series[Any]: ...
    @overload
    def __call__(
        self, x: pandas.Series[Any], return_std: Literal[True], *, t: Any = None
    ) -> tuple[pandas.Series[Any], pandas.Series[Any]]: ...
    @overload
    def __call__(
        self, x: xarray.DataArray | xarray.Dataset, return_std: Literal[False] = False, *, t: Any = None
    ) -> xarray.DataArray: ...
    @overload
    def __call__(
        self, x: xarray.DataArray | xarray.Dataset, return_std: Literal[True], *, t: Any = None
    ) -> tuple[xarray.DataArray, xarray.DataArray]: ...


class VectorMethod(Protocol):
    """A vector at each state, of the form of the states."""

    @overload
    def __call__(self, x: States, *, t: Any = None) -> Values: ...
    @overload
    def __call__(self, x: pandas.DataFrame, *, t: Any = None) -> pandas.DataFrame: ...
    @overload
    def __call__(self, x: pandas.Series[Any], *, t: Any = None) -> pandas.Series[Any]: ...
    @overload
    def __call__(self, x: xarray.DataArray | xarray.Dataset, *, t: Any = None) -> xarray.DataArray: ...


class ScalarMethod(Protocol):
    """A number at each state, of the form of the states."""

    @overload
    def __call__(self, x: States, *, t: Any = None) -> Values: ...
    @overload
    def __call__(self, x: pandas.DataFrame | pandas.Series[Any], *, t: Any = None) -> pandas.Series[Any]: ...
    @overload
    def __call__(self, x: xarray.DataArray | xarray.Dataset, *, t: Any = None) -> xarray.DataArray: ...


class PotentialMethod(Protocol):
    """The potential, and how far it depends on the path."""

    @overload
    def __call__(
        self, x: States, return_path_difference: Literal[False] = False, *, t: Any = None
    ) -> Values: ...
    @overload
    def __call__(
        self, x: States, return_path_difference: Literal[True], *, t: Any = None
    ) -> tuple[Values, Values]: ...
    @overload
    def __call__(
        self,
        x: pandas.DataFrame | pandas.Series[Any],
        return_path_difference: Literal[False] = False,
        *,
        t: Any = None,
    ) -> pandas.Series[Any]: ...
    @overload
    def __call__(
        self, x: pandas.DataFrame | pandas.Series[Any], return_path_difference: Literal[True], *, t: Any = None
    ) -> tuple[pandas.Series[Any], pandas.Series[Any]]: ...
    @overload
    def __call__(
        self,
        x: xarray.DataArray | xarray.Dataset,
        return_path_difference: Literal[False] = False,
        *,
        t: Any = None,
    ) -> xarray.DataArray: ...
    @overload
    def __call__(
        self, x: xarray.DataArray | xarray.Dataset, return_path_difference: Literal[True], *, t: Any = None
    ) -> tuple[xarray.DataArray, xarray.DataArray]: ...


class _Bound(Protocol):
    def __get__(self, instance: Any, owner: Any) -> FieldMethod: ...


class _BoundVector(Protocol):
    def __get__(self, instance: Any, owner: Any) -> VectorMethod: ...


class _BoundPotential(Protocol):
    def __get__(self, instance: Any, owner: Any) -> PotentialMethod: ...


class _BoundScalar(Protocol):
    def __get__(self, instance: Any, owner: Any) -> ScalarMethod: ...


def as_field(method: Callable[..., Any]) -> _Bound:
    """The method itself, with the types of `FieldMethod`."""
    return cast(_Bound, method)


def as_vector(method: Callable[..., Any]) -> _BoundVector:
    """The method itself, with the types of `VectorMethod`."""
    return cast(_BoundVector, method)


def as_scalar(method: Callable[..., Any]) -> _BoundScalar:
    """The method itself, with the types of `ScalarMethod`."""
    return cast(_BoundScalar, method)


def as_potential(method: Callable[..., Any]) -> _BoundPotential:
    """The method itself, with the types of `PotentialMethod`."""
    return cast(_BoundPotential, method)
