"""AG101: a forward hook returns a detached copy, which takes the place of the module's output."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def watched(hook):
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    net[1].register_forward_hook(hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, F.cross_entropy(net(X), Y))


def test_the_line_that_returns_it():
    """The cut is made in one line of the hook, and takes effect in another."""
    norms = []

    def replacing(module, args, output):
        kept = output.detach()
        norms.append(kept.norm().item())
        return kept  # instead

    def looking(module, args, output):
        kept = output.detach()
        norms.append(kept.norm().item())

    def nothing(module, args, output):
        norms.append(output.detach().norm().item())
        return None  # noqa: RET501

    finding = diagnosed(
        lambda: watched(replacing), "AG101", "kept = output.detach()", "net.0.weight", severity="warning",
        where=replacing,
    )  # fmt: skip
    roles = {place.lineno: place.role for place in finding.locations}
    assert roles[line_of(replacing, "# instead")] == "returned instead of the module's output here"
    calm(lambda: watched(looking), lambda: watched(nothing))
