"""Every optimizer whose state is inspected, each on a small network that fits it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import schedulefree
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

SIZE = 4


class Plain(nn.Sequential):
    """Two linear layers."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, 1))

    def loss(self) -> Tensor:
        weight = self[0].weight
        return self(torch.ones(3, SIZE, dtype=weight.dtype, device=weight.device)).square().mean()


class Matrices(nn.Module):
    """Two matrices: Muon takes nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(SIZE, SIZE, bias=False)
        self.down = nn.Linear(SIZE, SIZE, bias=False)

    def loss(self) -> Tensor:
        x = torch.ones(3, SIZE, dtype=self.up.weight.dtype, device=self.up.weight.device)
        return self.down(torch.tanh(self.up(x))).square().mean()


class Sparse(nn.Module):
    """An embedding with sparse gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(6, SIZE, sparse=True)

    def loss(self) -> Tensor:
        index = torch.tensor([1, 3], device=self.words.weight.device)
        return self.words(index).square().mean()


@dataclass(frozen=True)
class Case:
    """One way to build an optimizer. ``stateless``: its steps leave no state; ``closure``: it steps with one."""

    name: str
    make: Callable[[Iterable[Tensor]], Optimizer]
    network: type[nn.Module] = Plain
    stateless: bool = False
    closure: bool = False

    def step(self, network: nn.Module, optimizer: Optimizer) -> None:
        """One step of training."""

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss: Tensor = network.loss()
            loss.backward()
            return loss

        if self.closure:
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()


def _schedule_free(kind: type[Optimizer], **settings: float) -> Callable[[Iterable[Tensor]], Optimizer]:
    def make(parameters: Iterable[Tensor]) -> Optimizer:
        optimizer = kind(parameters, lr=0.01, **settings)
        optimizer.train()
        return optimizer

    return make


def _torch(name: str, **settings: object) -> Callable[[Iterable[Tensor]], Optimizer]:
    return lambda parameters: getattr(torch.optim, name)(parameters, lr=0.01, **settings)


CASES = (
    Case("SGD", _torch("SGD"), stateless=True),
    Case("SGD momentum", _torch("SGD", momentum=0.9)),
    Case("SGD nesterov foreach", _torch("SGD", momentum=0.9, nesterov=True, foreach=True)),
    Case("SGD fused", _torch("SGD", momentum=0.9, fused=True)),
    Case("Adam", _torch("Adam")),
    Case("Adam amsgrad foreach", _torch("Adam", amsgrad=True, foreach=True)),
    Case("AdamW", _torch("AdamW")),
    Case("AdamW fused", _torch("AdamW", fused=True)),
    Case("Adadelta", _torch("Adadelta")),
    Case("Adafactor", _torch("Adafactor")),
    Case("Adagrad", _torch("Adagrad")),
    Case("Adamax", _torch("Adamax")),
    Case("ASGD", _torch("ASGD")),
    Case("LBFGS", _torch("LBFGS", max_iter=3), closure=True),
    Case("Muon", _torch("Muon"), network=Matrices),
    Case("NAdam", _torch("NAdam")),
    Case("RAdam", _torch("RAdam")),
    Case("RMSprop", _torch("RMSprop", momentum=0.9, centered=True)),
    Case("Rprop", _torch("Rprop")),
    Case("SparseAdam", _torch("SparseAdam"), network=Sparse),
    Case("AdamWScheduleFree", _schedule_free(schedulefree.AdamWScheduleFree)),
    Case("SGDScheduleFree", _schedule_free(schedulefree.SGDScheduleFree)),
    Case("RAdamScheduleFree", _schedule_free(schedulefree.RAdamScheduleFree)),
)
