"""AG306: hooks that reverse the gradient of a tensor that two branches use."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def halved(grad):
    return grad * 0.5


def reversed_(grad):
    return -0.3 * grad


def negated(grad):
    return grad.neg() * 2


class Adapted(nn.Module):
    """A body with a head for the label and one for the domain."""

    def __init__(self):
        super().__init__()
        self.body, self.label, self.domain = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)


def adapt(hook, *, apart=False, domain_only=False):
    net = Adapted()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        f = net.body(X).tanh()
        label = net.label(f.detach() if domain_only else f)
        g = f.view_as(f) if apart else f
        g.register_hook(hook)  # hooked
        trained(optimizer, F.cross_entropy(label, Y) + F.cross_entropy(net.domain(g), Y))


def test_reversal_on_a_shared_tensor():
    """The label's gradient is reversed too. Fine: a tensor of its own, or a label branch without a gradient to it."""
    for hook in (reversed_, negated):
        diagnosed(
            lambda hook=hook: adapt(hook), "AG306", "# hooked", "register_hook", hook.__name__, severity="warning",
            where=adapt,
        )  # fmt: skip
        calm(lambda hook=hook: adapt(hook, apart=True), lambda hook=hook: adapt(hook, domain_only=True))


def test_hooks_on_shared_tensors_that_reverse_nothing():
    """One that scales, clips, or only reads, is meant for whatever the tensor is used for."""
    seen = []
    calm(
        lambda: adapt(halved),
        lambda: adapt(lambda grad: grad.clamp(-1, 1)),
        lambda: adapt(lambda grad: seen.append((-grad).max().item())),
    )


def test_reversal_of_all_that_uses_a_tensor():
    """Registered before both uses, or after its only one, the hook is meant for them."""

    def before_both():
        net = Adapted()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            f = net.body(X).tanh()
            f.register_hook(reversed_)
            trained(optimizer, F.cross_entropy(net.label(f), Y) + F.cross_entropy(net.domain(f), Y))

    def after_one():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            f = net[0](X)
            out = net[1](f)
            f.register_hook(reversed_)
            trained(optimizer, F.cross_entropy(out, Y))

    calm(before_both, after_one)
