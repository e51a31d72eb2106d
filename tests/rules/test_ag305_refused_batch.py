"""AG305: batches whose gradients the program refuses, and does not clear."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def measured(net):
    return torch.stack([p.grad.norm() for p in net.parameters()]).norm().item()


def clipped(net):
    return float(nn.utils.clip_grad_norm_(net.parameters(), 10.0))


def training(scales, norm, *, clear=False, every=1, limit=100.0):
    """A round for each scale of a batch; those with a large ``norm`` of the gradients are left out."""

    def run():
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for i, scale in enumerate(scales):
            (net(X) * scale).pow(2).mean().div(every).backward()
            if norm(net) > limit:
                if clear:
                    optimizer.zero_grad()
                continue  # Left.
            if (i + 1) % every == 0:
                optimizer.step()
                optimizer.zero_grad()

    return run


def more_and_more(norm):
    """One backward a step, then two, with the norms shown."""

    def run():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for count in (1, 1, 2, 2):
            for _ in range(count):
                net(X).pow(2).mean().div(count).backward()
                norm(net)
            optimizer.step()
            optimizer.zero_grad()

    return run


def test_left_with_gradients():
    """Between rounds that step, and at the end, with all that follow refused as well."""
    diagnosed(training((1, 1, 1e3, 1), measured), "AG305", "# Left.", "gradients", severity="warning", where=training)
    diagnosed(training((1, 1e3, 1), clipped), "AG305", "# Left.", "gradients", severity="warning", where=training)


def test_left_without():
    """Cleared where they are left; accumulated over two rounds; over more and more; none refused."""
    calm(
        training((1, 1, 1e3, 1, 1), measured, clear=True),
        training((1, 1, 1, 1), measured, every=2),
        training((1, 1, 1), clipped),
        more_and_more(measured),
    )
