"""What modules return while a model runs, by forward hooks: the model itself is not changed."""

import contextlib
import fnmatch
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from warpforge.export import outputs
from warpforge.export.errors import ExportError


@dataclass(frozen=True)
class Activation:
    """One tensor a module returned; module, call and output are named as in an export's `module_values`."""

    key: str
    """The name in the file of tensors."""
    module: str
    call: int
    output: str


def chosen(root: nn.Module, wanted: str) -> list[str]:
    """Names of the modules that `wanted` means: `layers`, `all`, `none`, or patterns such as `encoder.*,head`."""
    names = [name for name, module in root.named_modules() if not isinstance(module, nn.ModuleList | nn.ModuleDict)]
    if wanted == "all":
        return names
    if wanted == "none":
        return []
    if wanted == "layers":
        lists = {name for name, module in root.named_modules() if isinstance(module, nn.ModuleList | nn.Sequential)}
        return [name for name in names if name.count(".") < 2 or name.rpartition(".")[0] in lists]
    patterns = [pattern.strip() for pattern in wanted.split(",") if pattern.strip()]
    found = [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    unused = [pattern for pattern in patterns if not any(fnmatch.fnmatchcase(name, pattern) for name in names)]
    if unused:
        raise ExportError(f"no module matches `{unused[0]}`; `--activations all` lists every one in the manifest")
    return found


class Recording:
    """The activations of one forward pass, in the order in which they were computed."""

    def __init__(self) -> None:
        self.tensors: dict[Activation, torch.Tensor] = {}
        self._calls: Counter[str] = Counter()

    def note(self, module: str, returned: object) -> None:
        """Keeps copies of every tensor in what a module returned."""
        call = self._calls[module]
        self._calls[module] += 1
        for output, tensor in outputs.flatten(returned).items():
            key = (module or "(model)") + (f"#{call}" if call else "") + (f"/{output}" if output else "")
            self.tensors[Activation(key, module, call, output)] = tensor.detach().clone()


def _hook(found: Recording, name: str) -> Callable[[nn.Module, Any, Any], None]:
    def hook(_module: nn.Module, _given: Any, returned: Any) -> None:
        found.note(name, returned)

    return hook


@contextlib.contextmanager
def recording(root: nn.Module, modules: list[str]) -> Iterator[Recording]:
    """Records these modules while the context is open."""
    found = Recording()
    inner = dict(root.named_modules())
    handles = [inner[name].register_forward_hook(_hook(found, name)) for name in modules]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
