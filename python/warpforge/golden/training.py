"""Training by plain PyTorch, one process or one of several, with everything worth judging written down.

The loop is what a PyTorch user would write. With several ranks the module is wrapped in `DistributedDataParallel` and
the gradients of each rank are noted before they are averaged.
"""

import contextlib
import dataclasses
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from warpforge.export import outputs
from warpforge.export.errors import ExportError
from warpforge.export.model import Model
from warpforge.export.recipes.recipe import Tensors
from warpforge.export.state import State, state_of
from warpforge.golden import activations, files
from warpforge.golden.activations import Activation
from warpforge.golden.configuration import Configuration
from warpforge.golden.evaluation import batches


@dataclass
class Trained:
    """What a rank has to say beside the tensors it wrote."""

    loss: list[float] = field(default_factory=list)
    """Its own loss, before each update."""
    learning_rate: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Forward, backward, averaging and update, without what recording takes."""
    activations: list[Activation] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    final: dict[str, str] = field(default_factory=dict)
    """The files with the weights and the optimizer's state at the end."""

    def write(self, path: Path) -> None:
        """Hands it to the process that waits for all ranks."""
        path.write_text(json.dumps(dataclasses.asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "Trained":
        """What another rank wrote."""
        content = json.loads(path.read_text())
        content["activations"] = [Activation(**each) for each in content["activations"]]
        return cls(**content)


def build(configuration: Configuration) -> Model:
    """The model of a run, with its initial weights."""
    dtype = getattr(torch, configuration.dtype)
    model = configuration.recipe.build(configuration.seed, dtype)
    if configuration.checkpoint:
        model.module = configuration.checkpoint.load(model.module.config, configuration.seed, dtype)
    return model


def train(configuration: Configuration, directory: Path, rank: int = 0) -> Trained:
    """Trains and writes; every process of a run calls this with its own rank."""
    torch.use_deterministic_algorithms(True)
    model = build(configuration)
    state = state_of(model.module)
    if rank == 0:
        files.write_tensors(directory, files.initial(configuration.run), {**state.parameters, **state.buffers})
    run = _Run(configuration, directory, rank, model, state)
    for step in range(configuration.steps):
        run.step(step)
    run.write_batches()
    if rank == 0:
        run.finish()
    return run.trained


class _Run:
    def __init__(self, configuration: Configuration, directory: Path, rank: int, model: Model, state: State) -> None:
        self.configuration, self.directory, self.rank = configuration, directory, rank
        self.model, self.state = model, state
        self.trained = Trained()
        self.data = batches(configuration, rank, model)
        self.modules = activations.chosen(model.module, configuration.activations)
        chosen = configuration.optimizer
        self.optimizer = torch.optim.AdamW(
            [state.parameters[name] for name in state.trainable],
            lr=configuration.schedule.learning_rate,
            betas=(chosen.beta1, chosen.beta2),
            eps=chosen.epsilon,
            weight_decay=chosen.weight_decay,
            foreach=False,
        )
        self.local: dict[str, torch.Tensor] = {}
        self.batches: dict[str, torch.Tensor] = {}
        self.called: nn.Module = model.module
        if configuration.ranks > 1:
            parallel = DistributedDataParallel(model.module)
            parallel.register_comm_hook(None, self._average)
            self.called = parallel

    def _average(
        self,
        _state: object,
        bucket: torch.distributed.GradBucket,  # type: ignore[name-defined]
    ) -> torch.futures.Future[torch.Tensor]:
        """DDP's own averaging, after a note of what this rank brings."""
        names = {id(tensor): name for name, tensor in self.state.parameters.items()}
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
            self.local[names[id(parameter)]] = gradient.detach().clone()
        return allreduce_hook(None, bucket)  # type: ignore[arg-type]

    def step(self, number: int) -> None:
        """One step of training."""
        configuration = self.configuration
        recorded = number < configuration.record
        which = configuration.batch_number(number)
        inputs, targets = self.data.training(which)
        self.batches |= {f"{which}/{name}": tensor for name, tensor in _named(inputs, targets).items()}
        rate = configuration.schedule.rate(number, configuration.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.model.module.train()
        self.local.clear()
        start = time.monotonic()
        self.optimizer.zero_grad(set_to_none=True)
        with activations.recording(self.model.module, self.modules if recorded else []) as seen, self._autocast():
            returned = self.called(**inputs)
            assert self.model.loss is not None, "every recipe has a loss"
            loss = self.model.loss(returned, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        taken = time.monotonic() - start
        if recorded:
            self._write_before(number, inputs, targets, seen)
        start = time.monotonic()
        self.optimizer.step()
        self.trained.seconds.append(taken + time.monotonic() - start)
        self.trained.loss.append(float(loss.detach()))
        self.trained.learning_rate.append(rate)
        if recorded and self.rank == 0:
            self._write_after(files.of_step(number, "weights"), files.of_step(number, "optimizer"))

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        kind = self.configuration.autocast
        return torch.autocast("cpu", getattr(torch, kind)) if kind else contextlib.nullcontext()

    def _write_before(self, number: int, inputs: Tensors, targets: Tensors, seen: activations.Recording) -> None:
        """What the step was given and computed, before the update."""
        found = {}
        for name in self.state.trainable:
            gradient = self.state.parameters[name].grad
            if gradient is None:
                raise ExportError(f"{name} gets no gradient: freeze it, or an update could not be compared")
            found[name] = gradient.detach()
        several = self.configuration.ranks > 1
        rank = self.rank if several else None

        def write(content: str, tensors: dict[str, torch.Tensor]) -> None:
            files.write_tensors(self.directory, files.of_step(number, content, rank), tensors)

        write("inputs", _named(inputs, targets))
        write("activations", {each.key: tensor for each, tensor in seen.tensors.items()})
        self.trained.activations = list(seen.tensors)
        if several:
            write("gradients", {name: self.local[name] for name in self.state.trainable})
        if self.rank == 0:
            files.write_tensors(self.directory, files.of_step(number, "gradients"), found)

    def _write_after(self, weights: str, optimizer: str) -> None:
        files.write_tensors(self.directory, weights, {**self.state.parameters, **self.state.buffers})
        found: dict[str, torch.Tensor] = {}
        for name in self.state.trainable:
            held = self.optimizer.state[self.state.parameters[name]]
            found.setdefault("step", held["step"].to(torch.float32))
            found[f"{name}.exp_avg"] = held["exp_avg"]
            found[f"{name}.exp_avg_sq"] = held["exp_avg_sq"]
        files.write_tensors(self.directory, optimizer, found)
        self.trained.final = {"weights": weights, "optimizer": optimizer}

    def write_batches(self) -> None:
        """Every batch this rank was given."""
        files.write_tensors(self.directory, files.batches(self.configuration.run, self.rank), self.batches)

    def finish(self) -> None:
        """The final checkpoint, and what the trained model makes of data it has not seen."""
        first = self.configuration.run == 0
        if first and self.configuration.steps > self.configuration.record:
            self._write_after("final/weights.safetensors", "final/optimizer.safetensors")
        module = self.model.module.eval()
        with torch.no_grad(), self._autocast():
            seen = self.data.evaluate(lambda inputs: module(**inputs))
        if first:
            found = {name or "output": tensor for name, tensor in outputs.flatten(seen.returned).items()}
            files.write_tensors(self.directory, files.EVALUATION_INPUTS, _named(seen.inputs, seen.targets))
            files.write_tensors(self.directory, files.EVALUATION_OUTPUTS, found)
        self.trained.metrics = seen.metrics


def _named(inputs: Tensors, targets: Tensors) -> dict[str, torch.Tensor]:
    """A batch as files of tensors have it."""
    given = {f"input.{name}": tensor for name, tensor in inputs.items()}
    return given | {f"target.{name}": tensor for name, tensor in targets.items()}
