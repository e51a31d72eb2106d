"""Rendering: splats are densified between backward and step, so the gradients of that iteration are thrown away."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Splats(nn.Module):
    """Blobs on a line that are summed into an image of one row."""

    def __init__(self, count, pixels=32):
        super().__init__()
        self.register_buffer("grid", torch.linspace(0, 1, pixels))
        self.means = nn.Parameter(torch.rand(count))
        self.scales = nn.Parameter(torch.full((count,), -3.0))
        self.colors = nn.Parameter(torch.rand(count))

    def forward(self):
        width = self.scales.exp()
        weight = torch.exp(-0.5 * ((self.grid[:, None] - self.means) / width) ** 2)
        return (weight * self.colors).sum(1)


def make_optimizer(splats):
    groups = [{"params": [p], "name": n, "lr": lr} for (n, p), lr in zip(splats.named_parameters(), (1e-3, 1e-2, 1e-2))]
    return torch.optim.Adam(groups, eps=1e-15)


class Densifier:
    """Clones the blobs with the largest positional gradient and carries Adam's moments over."""

    def __init__(self, every, fraction=0.25):
        self.every, self.fraction = every, fraction
        self.sum = None

    def observe(self, splats):
        g = splats.means.grad.abs()
        self.sum = g if self.sum is None else self.sum + g

    def apply(self, splats, optimizer):
        k = max(1, int(self.fraction * len(self.sum)))
        chosen = self.sum.topk(k).indices
        for group in optimizer.param_groups:
            old = group["params"][0]
            grown = nn.Parameter(torch.cat([old.detach(), old.detach()[chosen]]))
            state = optimizer.state.pop(old, None)
            if state:
                for key in ("exp_avg", "exp_avg_sq"):
                    state[key] = torch.cat([state[key], torch.zeros_like(state[key][chosen])])
                optimizer.state[grown] = state
            group["params"][0] = grown
            setattr(splats, group["name"], grown)
        self.sum = None


def target():
    x = torch.linspace(0, 1, 32)
    return torch.sin(6 * x).abs()


def run():
    torch.manual_seed(0)
    splats = Splats(count=8)
    optimizer = make_optimizer(splats)
    densifier = Densifier(every=2)
    image = target()
    moved = []
    for iteration in range(1, 5):
        loss = (splats() - image).abs().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        densifier.observe(splats)
        before = splats.colors.detach().clone()
        if iteration % densifier.every == 0:  # also
            densifier.apply(splats, optimizer)  # cause
        optimizer.step()  # cause
        moved.append((splats.colors.detach()[: len(before)] - before).abs().max().item())
    return moved, len(splats.means)


def verify(outcome):
    moved, count = outcome
    assert count > 8
    assert moved[0] > 0 and moved[2] > 0
    assert moved[1] == 0 and moved[3] == 0


TRUTH = Truth(
    fault="densify replaces the parameters before optimizer.step(): the new ones have no gradient and the step does nothing",
    names=("colors",),
    repair=("pass", "optimizer.step()\nif iteration % densifier.every == 0:\n    densifier.apply(splats, optimizer)"),
)
