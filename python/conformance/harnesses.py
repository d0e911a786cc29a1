"""JAX's own test harnesses: one use of one primitive each, with the inputs that go with it."""

from __future__ import annotations

import os
from typing import Any

from conformance.naming import distinct


def start_jax() -> None:
    """Sets JAX up the same way everywhere: the CPU, one thread, types of 64 bits. Before JAX is imported."""
    os.environ["JAX_ENABLE_X64"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def for_cpu() -> dict[str, Any]:
    """Every harness that JAX says works on a CPU, by name."""
    start_jax()
    from jax._src.internal_test_util import test_harnesses

    # Sets decide the order of some definitions, and the order of a set differs between runs: names do not.
    chosen = [harness for harness in test_harnesses.all_harnesses if harness.filter("cpu")]
    chosen.sort(key=lambda harness: (harness.fullname, str(harness.dtype)))
    return dict(zip(distinct(harness.fullname for harness in chosen), chosen, strict=True))
