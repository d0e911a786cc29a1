"""One harness as a program, its inputs and what XLA computes from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conformance import naming, tensor_file
from conformance.tensor_file import Array


@dataclass(frozen=True)
class Case:
    """A program with right answers."""

    text: str
    inputs: list[Array]
    outputs: list[Array]

    def write(self, folder: Path, stem: str) -> None:
        """Writes the program and its tensors."""
        tensors = {f"input.{place}": array for place, array in enumerate(self.inputs)}
        tensors |= {f"output.{place}": array for place, array in enumerate(self.outputs)}
        (folder / f"{stem}.mlir").write_text(self.text)
        tensor_file.write(folder / f"{stem}.safetensors", tensors)


def make(name: str, harness: Any) -> Case:
    """Lowers a harness, and runs it once."""
    import jax

    arguments = harness.dyn_args_maker(np.random.RandomState(naming.seed(name)))
    # An argument that the program does not need is still one of its arguments.
    lowered = jax.jit(harness.dyn_fun, keep_unused=True).lower(*arguments)
    results = lowered.compile()(*arguments)
    return Case(
        text=lowered.as_text(),
        inputs=[plain(leaf) for leaf in jax.tree_util.tree_leaves(arguments)],
        outputs=[plain(leaf) for leaf in jax.tree_util.tree_leaves(results)],
    )


def plain(leaf: Any) -> Array:
    """A value as an array of numbers, with the type it has in the program."""
    import jax

    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.extended):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)
