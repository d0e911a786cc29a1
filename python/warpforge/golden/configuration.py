"""How a golden run is made: what the command line asks for, and what goes into the manifest."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from warpforge.export.errors import ExportError
from warpforge.export.recipes.recipe import Recipe
from warpforge.golden.checkpoint import Checkpoint
from warpforge.golden.squad.questions import Questions
from warpforge.golden.workloads import SYNTHETIC, Data


@dataclass(frozen=True)
class Optimizer:
    """AdamW; the exporter writes the same step as a program."""

    name: str = "adamw"
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.01


@dataclass(frozen=True)
class Schedule:
    """The learning rate of each step."""

    learning_rate: float
    kind: str = "constant"
    warmup_steps: int = 0

    def rate(self, step: int, steps: int) -> float:
        """Rises over the warm-up steps, then stays or falls in a straight line to zero after the last step."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / (self.warmup_steps + 1)
        if self.kind == "constant":
            return self.learning_rate
        return self.learning_rate * (steps - step) / (steps - self.warmup_steps)


@dataclass(frozen=True)
class Configuration:
    """A whole run. It crosses into the processes of a data-parallel run as it is."""

    workload: str
    recipe: Recipe
    schedule: Schedule
    model: str | None = None
    steps: int = 3
    record: int = 3
    """How many steps, from the first on, are written in full."""
    examples: int = 0
    """Examples in an epoch; 0: every batch is new."""
    ranks: int = 1
    seed: int = 0
    data_seed: int = 0
    dtype: str = "float32"
    autocast: str | None = None
    threads: int = 0
    activations: str = "layers"
    runs: int = 1
    """Runs of the same training from other seeds, of which the first is written in full."""
    run: int = 0
    """Which of these it is."""
    optimizer: Optimizer = field(default_factory=Optimizer)
    checkpoint: Checkpoint | None = None
    """Where the initial weights come from; none: the recipe makes them."""
    weights: str = "random, from the seed"
    """How the recipe makes them, for the manifest."""
    questions: Questions | None = None
    """What it is trained on; none: random batches."""
    data: Data = SYNTHETIC
    targets: Mapping[str, float] = field(default_factory=dict)
    """What the run is expected to reach."""

    def of_run(self, number: int) -> "Configuration":
        """The same training from the seeds of another run, with nothing recorded but its start, batches and losses."""
        seed, data_seed = self.seed + number, self.data_seed + number
        return dataclasses.replace(self, seed=seed, data_seed=data_seed, run=number, record=0)

    @property
    def batches(self) -> int:
        """How many different batches a rank sees."""
        return min(self.steps, self.examples // (self.batch_size * self.ranks)) if self.examples else self.steps

    @property
    def batch_size(self) -> int:
        """Examples in a batch of one rank."""
        return int(getattr(self.recipe, "batch", 1))

    def batch_number(self, step: int) -> int:
        """Which batch of the data a step sees."""
        return step % self.batches

    def check(self) -> None:
        """Refuses what does not fit together."""
        for name, least in (("steps", 1), ("record", 0), ("ranks", 1), ("threads", 0), ("examples", 0), ("runs", 1)):
            if getattr(self, name) < least:
                raise ExportError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if self.examples and self.examples < self.batch_size * self.ranks:
            together = self.batch_size * self.ranks
            raise ExportError(f"{self.examples} examples do not fill one batch of {together} over all ranks")
        if self.schedule.warmup_steps >= self.steps:
            raise ExportError(f"a warm-up of {self.schedule.warmup_steps} steps leaves nothing of {self.steps}")
