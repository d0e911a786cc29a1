"""Gradients and whole training steps in PyTorch: the recipe's own module and loss, `backward`, and `torch.optim`.

Settings: `channels_last`, `compile` (forward and backward by `torch.compile`), `optimizer` (`fused`, else the default).
"""

from typing import Any

import torch
import torch_model
from protocol import Array, Request


class Training:
    """Loss and gradients, and for a program `train-...` the optimizer's step from them."""

    def __init__(self, request: Request) -> None:
        if request.precision != "f32":
            raise NotImplementedError("PyTorch: training is measured in f32 only")
        torch.set_num_threads(request.threads)
        self.request = request
        settings = request.settings
        entry = request.entry(request.export)
        self.settings = entry["settings"]
        self.updates = request.program.startswith("train-")
        model = torch_model.described(request, torch.float32)
        self.module, self.loss_of = model.module, model.loss
        self.inputs = torch_model.build_inputs(request, torch.float32)
        self.targets = torch_model.build_inputs(request, torch.float32, "target")
        self.module.train(self.settings["mode"] == "train")
        if settings.get("channels_last"):
            self.module = self.module.to(memory_format=torch.channels_last)
            self.inputs = {
                name: tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor
                for name, tensor in self.inputs.items()
            }
        wanted = {result["name"] for result in entry["results"] if result["role"] in ("gradient", "parameter")}
        self.trained = {name: tensor for name, tensor in self.module.named_parameters() if name in wanted}
        self.rates = [each["initial"] for each in entry["arguments"] if each["role"] == "hyperparameter"]
        self.optimizer = self._optimizer() if self.updates else None
        compiled = settings.get("compile")
        self.forward: Any = self._forward
        if compiled:
            import torch._inductor.config as inductor

            inductor.cpp.threads = request.threads
            mode = None if compiled == "default" else compiled
            self.forward = torch.compile(self._forward, mode=mode, dynamic=False)
        self.loss: Any = None

    def _forward(self) -> Any:
        return self.loss_of(self.module(**self.inputs), self.targets)

    def _optimizer(self) -> torch.optim.Optimizer:
        said, rate = self.settings, self.rates[0]
        fused = True if self.request.settings.get("optimizer") == "fused" else None
        if said["optimizer"] == "sgd":
            return torch.optim.SGD(
                self.trained.values(),
                lr=rate,
                momentum=said["momentum"],
                weight_decay=said["weight_decay"],
                nesterov=said["nesterov"],
                fused=fused,
            )
        return torch.optim.AdamW(
            self.trained.values(),
            lr=rate,
            betas=(said["beta1"], said["beta2"]),
            eps=said["epsilon"],
            weight_decay=said["weight_decay"],
            fused=fused,
        )

    def run(self) -> None:
        """One step, or its gradients only."""
        self.module.zero_grad(set_to_none=True)
        self.loss = self.forward()
        self.loss.backward()
        if self.optimizer is not None:
            self.optimizer.step()

    def outputs(self) -> dict[str, Array]:
        """Of a step: what the first one from the exported state gives."""
        if self.optimizer is not None:
            self._reset()
            self.run()
        found = {"loss": self.loss.detach()}
        for name, tensor in self.trained.items():
            if self.optimizer is None:
                found[name] = tensor.grad if tensor.grad is not None else torch.zeros_like(tensor)
                continue
            state = self.optimizer.state[tensor]
            if self.settings["optimizer"] == "sgd":
                found[name] = tensor.detach()
                found[f"{name}.momentum"] = state["momentum_buffer"]
            else:
                found[f"{name}.exp_avg"] = state["exp_avg"]
        return {name: tensor.contiguous().numpy() for name, tensor in found.items()}

    def _reset(self) -> None:
        fresh = torch_model.described(self.request, torch.float32).module
        with torch.no_grad():
            for (_, mine), (_, exported) in zip(
                self.module.state_dict().items(), fresh.state_dict().items(), strict=True
            ):
                mine.copy_(exported)
        self.optimizer = self._optimizer()

    def about(self) -> dict[str, Any]:
        """The version."""
        return {"engine": f"PyTorch {torch.__version__}"}
