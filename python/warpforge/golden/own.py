"""A user's own model: what a factory returns, trained as a recipe is."""

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

from warpforge.export.errors import ExportError
from warpforge.export.factory import model_from
from warpforge.export.model import Model, Tensors
from warpforge.export.recipes.recipe import Recipe
from warpforge.golden.arguments import add_training, configured
from warpforge.golden.configuration import Configuration
from warpforge.golden.workloads import Data, Workload

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a model may be called: the name stands in records and in the names of files."""


@dataclass
class Own(Recipe):
    """A factory and its keyword arguments; it is called anew for each run, so that seeds change the weights."""

    name: ClassVar[str] = "own"
    summary: ClassVar[str] = "what your own function returns"

    place: str = ""
    options: tuple[str, ...] = ()
    batch: int = 1

    def build(self, seed: int = 0, dtype: torch.dtype = torch.float32, weights: bool = True) -> Model:
        """The factory's model; its weights are what it makes of PyTorch's generator, its types are its own."""
        del dtype, weights
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = model_from(self.place, self.options)
        model.options = {**model.options, "module": self.place}
        return model


def asked(prog: str, argv: Sequence[str]) -> tuple[Configuration, Path]:
    """What a command line with `--module` asks for: the configuration, and the directory of the bundle."""
    parser = argparse.ArgumentParser(
        prog=f"{prog} --module", description="Trains the model that your own function returns."
    )
    own = parser.add_argument_group("model")
    own.add_argument("--module", required=True, metavar="PACKAGE.MODULE:FACTORY", help="the function")
    own.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="a keyword argument of it (repeatable)"
    )
    own.add_argument(
        "--data-licence", default="not stated", metavar="TEXT", help="the terms of its data, for the manifest"
    )
    workload = Workload(Own, Own.summary, 1e-3, lambda _returned, _targets: {})
    add_training(parser, workload)
    arguments = parser.parse_args(argv)
    # A script's directory is searched when Python runs it; the same is expected of a module named here.
    sys.path.insert(0, str(Path.cwd()))
    recipe = Own(arguments.module, tuple(arguments.option))
    model = recipe.build(arguments.seed)
    check(model, arguments.module)
    recipe.batch = rows(model.inputs)
    if model.batch is None:
        # The one batch there is.
        arguments.examples = recipe.batch * arguments.ranks
    arguments.dtype = _dtype(model.module)
    described = "further batches of the factory" if model.batch else "the example batch, at every step"
    more: dict[str, Any] = {
        "data": Data(arguments.module, arguments.data_licence, described),
        "weights": "made by the factory, from the seed",
    }
    return configured(model.name, recipe, arguments, None, more), arguments.out


def check(model: Model, place: str) -> None:
    """Refuses, before anything is trained, what could not be compared."""
    if not NAME.fullmatch(model.name):
        raise ExportError(f"{place}: the model's name `{model.name}` must be letters, digits, dots, `-` and `_`")
    if model.loss is None:
        raise ExportError(
            f"{place} has no loss to train by: return warpforge.export.Model(module, inputs, targets, loss)"
        )
    for name, module in model.module.named_modules():
        if isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0:
            raise ExportError(
                f"{place}: `{name}` drops values at random (p = {module.p:g}), so no two runs give the same numbers;"
                " set p to 0 in the factory"
            )


def rows(inputs: Tensors) -> int:
    """Examples in a batch: the first dimension of its first input."""
    first = next(iter(inputs.values()), None)
    return int(first.shape[0]) if first is not None and first.dim() else 1


def _dtype(module: nn.Module) -> str:
    kinds = [parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()]
    return str(kinds[0] if kinds else torch.float32).removeprefix("torch.")
