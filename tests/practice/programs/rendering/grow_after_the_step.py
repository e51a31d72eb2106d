"""Rendering: splats are cloned and pruned after the step, new Parameters take over Adam's moments; all right."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Cloud(nn.Module):
    def __init__(self, count=10, pixels=24):
        super().__init__()
        self.register_buffer("grid", torch.linspace(-1, 1, pixels))
        self.xyz = nn.Parameter(torch.rand(count) * 2 - 1)
        self.opacity = nn.Parameter(torch.zeros(count))
        self.color = nn.Parameter(torch.rand(count))

    def render(self):
        weight = torch.exp(-40 * (self.grid[:, None] - self.xyz) ** 2) * self.opacity.sigmoid()
        return (weight * self.color).sum(1)


class Editor:
    """Replaces every tensor of the cloud by one with other rows."""

    def __init__(self, cloud, optimizer):
        self.cloud, self.optimizer = cloud, optimizer

    @torch.no_grad()
    def rows(self, index, fresh):
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            new = nn.Parameter(old[index].clone())
            state = self.optimizer.state.pop(old, {})
            for key in ("exp_avg", "exp_avg_sq"):
                if key in state:
                    state[key] = state[key][index].clone()
                    state[key][fresh] = 0
            if state:
                self.optimizer.state[new] = state
            group["params"][0] = new
            setattr(self.cloud, group["name"], new)

    def clone(self, gradient, k):
        n = len(gradient)
        index = torch.cat([torch.arange(n), gradient.topk(k).indices])
        self.rows(index, torch.arange(len(index)) >= n)

    def prune(self, threshold):
        keep = (self.cloud.opacity.detach().sigmoid() > threshold).nonzero().squeeze(1)
        self.rows(keep, torch.zeros(len(keep), dtype=torch.bool))

    @torch.no_grad()
    def reset_opacity(self, ceiling=0.4):
        low = torch.logit(torch.tensor(ceiling))
        self.cloud.opacity.clamp_(max=low.item())
        for buffer in ("exp_avg", "exp_avg_sq"):
            self.optimizer.state[self.cloud.opacity][buffer].zero_()


def run():
    torch.manual_seed(0)
    cloud = Cloud()
    groups = [{"params": [p], "name": n} for n, p in cloud.named_parameters()]
    optimizer = torch.optim.Adam(groups, lr=2e-2)
    editor = Editor(cloud, optimizer)
    image = torch.linspace(0, 1, 24)
    moved, held, counts = [], [], []
    for iteration in range(6):
        loss = (cloud.render() - image).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        before = cloud.color.detach().clone()
        optimizer.step()
        moved.append(not torch.equal(before, cloud.color))
        if iteration in (1, 3):
            editor.clone(cloud.xyz.grad.abs(), k=3)
            editor.prune(threshold=0.3)
            editor.reset_opacity()
        held.append([g["params"][0] is getattr(cloud, g["name"]) for g in optimizer.param_groups])
        counts.append(len(cloud.xyz))
    return moved, held, counts, len(optimizer.state)


def verify(outcome):
    moved, held, counts, states = outcome
    assert all(moved) and all(all(h) for h in held)
    assert states == 3
    assert counts[0] == 10 and len(set(counts)) > 1


TRUTH = Truth()
