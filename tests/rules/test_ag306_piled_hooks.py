"""AG306: hooks that are registered again and again on the same parameter."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))
HALVES = 2


def program(register, rounds=3):
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for k in range(rounds):
        handles = register(net, k)
        trained(optimizer, F.mse_loss(net(X), Y))
        for handle in handles or ():
            handle.remove()


def averaging(net, k):
    for p in net.parameters():
        p.register_hook(lambda g: g / HALVES)


def test_hook_registered_in_each_round():
    """A hook that stays on the parameter and is registered again acts once more in each round."""

    class Clipper:
        def clip(self, grad):
            return grad.clamp(-1, 1) * 0.5

    class Damper:
        def __call__(self, grad):
            return grad * 0.5

    clipper, damper = Clipper(), Damper()

    def clipping(net, k):
        net.weight.register_hook(clipper.clip)

    def damping(net, k):
        net.weight.register_hook(damper)

    diagnosed(
        lambda: program(damping), "AG306", "register_hook(damper)", "net.weight", "Damper",
        severity="warning", where=damping,
    )  # fmt: skip
    diagnosed(
        lambda: program(averaging), "AG306", "p.register_hook(", "net.weight", "lambda", "3 times",
        severity="warning", where=averaging,
    )  # fmt: skip
    diagnosed(
        lambda: program(clipping), "AG306", "register_hook(clipper.clip)", "net.weight", "clip",
        severity="warning", where=clipping,
    )  # fmt: skip


def test_hooks_that_do_not_pile_up():
    """Hooks that are removed, on activations, made of other values, that only look, or of one round do not pile up."""
    norms = []

    def removed(net, k):
        return [p.register_hook(lambda g: g / HALVES) for p in net.parameters()]

    def looking(net, k):
        net.weight.register_hook(lambda g: norms.append(g.norm().item()))

    def masks(net, k):
        mask = (torch.arange(4) != k).float()
        net.weight.register_hook(lambda g: g * mask)

    def once(net, k):
        if k == 0:
            averaging(net, k)

    def activations():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            out = net(X)
            out.register_hook(lambda g: g / HALVES)
            trained(optimizer, F.mse_loss(out, Y))

    def new_models():
        for _ in range(3):
            program(averaging, rounds=1)

    calm(*(lambda register=register: program(register) for register in (removed, looking, masks, once)))
    calm(activations, new_models)


def test_many_rounds():
    """In a long run, whose older steps are folded, the number of hooks is that of all rounds."""
    diagnosed(
        lambda: program(averaging, rounds=30), "AG306", "p.register_hook(", "30 times",
        severity="warning", where=averaging,
    )  # fmt: skip
