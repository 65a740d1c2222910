"""Compiling kernels when it pays.

A kernel is a plain function over arrays and scalars in `engine/kernels/`, whose module lists it in SIGNATURES with its
numba types. Importing numba and compiling take seconds, so small work runs the very same function uncompiled and numba
is not even imported. Compiled code is cached on disk: beside the kernel's source, else in the user's cache folder, else
not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

WORTH_SECONDS = 4.0
"""Interpreted run time above which compiling from scratch and then running is faster on any machine."""

_compiled: dict[str, Callable[..., Any]] = {}


def kernel(function: Kernel, seconds: float, compiled: bool | None = None) -> Kernel:
    """The kernel to call: compiled or as it is; both give the same results.

    `seconds` is a rough guess of the interpreted run time; `compiled` True or False decides regardless of it. Without
    numba, or if it cannot compile here, the answer is the plain function.
    """
    wanted = compiled if compiled is not None else seconds > WORTH_SECONDS
    if not wanted:
        return function
    name = f"{function.__module__}.{function.__qualname__}"
    if name not in _compiled:
        _compiled[name] = _compile(function)
    return _compiled[name]  # type: ignore[return-value]


def _compile(function: Kernel) -> Callable[..., Any]:
    signature = import_module(function.__module__).SIGNATURES[function.__qualname__]
    try:
        import numba
    except ImportError:
        return function
    try:
        return numba.njit(signature, cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except (OSError, RuntimeError, ValueError, EOFError):
        # no cache folder can be written, or what lies there is damaged: compile for this process alone
        return numba.njit(signature, nogil=True)(function)  # type: ignore[no-any-return]


def warm_all() -> list[str]:
    """Compile every kernel into the cache (`ascendctl warmup`). Returns their names, sorted; empty without numba."""
    from pkgutil import iter_modules

    from ascendctl.engine import kernels

    done = []
    for module in sorted(info.name for info in iter_modules(kernels.__path__)):
        home = import_module(f"{kernels.__name__}.{module}")
        for name in sorted(getattr(home, "SIGNATURES", {})):
            function = getattr(home, name)
            if kernel(function, 0.0, True) is not function:
                done.append(f"{module}.{name}")
    return done
