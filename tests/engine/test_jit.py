"""Kernels run compiled or interpreted, with the same results; numba is imported only where it pays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ascendctl.engine import jit
from ascendctl.engine.kernels.take_best import REFUSED, take_best


def one_by_one(keys, pods):
    """The kernel's contract in plain words: look at all nodes at every turn."""
    taken, chosen = [0] * keys.shape[1], []
    for _ in range(pods):
        now = [keys[k, i] if k < len(keys) else REFUSED for i, k in enumerate(taken)]
        best = max(now, default=REFUSED)
        if best == REFUSED:
            break
        chosen.append(now.index(best))
        taken[chosen[-1]] += 1
    return chosen + [-1] * (pods - len(chosen))


scores = st.one_of(st.integers(-300, 600), st.just(REFUSED))


@given(
    arrays.arrays(np.int64, st.tuples(st.integers(1, 4), st.integers(1, 12)), elements=scores),
    st.integers(0, 30),
    st.integers(1, 5),
)
@settings(max_examples=150, deadline=None)
def test_take_best(keys, pods, block):
    expected = one_by_one(keys, pods)
    assert take_best(keys, pods, block).tolist() == expected
    assert jit.kernel(take_best, 0.0, True)(keys, pods, block).tolist() == expected


def test_small_work_stays_interpreted():
    assert jit.kernel(take_best, 0.001) is take_best
    assert jit.kernel(take_best, 1e9, False) is take_best


def test_unwritable_cache_is_no_error(monkeypatch):
    import numba

    real, tried = numba.njit, []

    def njit(signature, cache=False, **options):
        tried.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(signature, **options)

    monkeypatch.setattr(numba, "njit", njit)
    monkeypatch.setattr(jit, "_compiled", {})
    run = jit.kernel(take_best, 0.0, True)
    assert (tried, run is take_best) == ([True, False], False)
    assert run(np.array([[1, 3]], dtype=np.int64), 1, 1).tolist() == [1]


def test_without_numba_the_plain_function_runs(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(jit, "_compiled", {})
    assert jit.kernel(take_best, 0.0, True) is take_best
    assert jit.warm_all() == []


def test_warm_all_names_every_kernel():
    assert "take_best.take_best" in jit.warm_all()


@pytest.mark.parametrize("module", ["ascendctl.engine.api", "ascendctl.engine.policies.intra"])
def test_placing_imports_neither_numba_nor_yaml(module):
    code = f"import sys, {module}; print([m for m in ('numba', 'yaml', 'click', 'jsonschema') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
