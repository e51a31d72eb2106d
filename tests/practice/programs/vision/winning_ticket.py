"""Vision: a lottery ticket; masks on gradients and weights, weights rewound in place, a new optimizer per round; all right."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc1, self.fc2 = nn.Linear(6 * 9, 20), nn.Linear(20, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Masks:
    def __init__(self, model):
        self.layers = {n: m for n, m in model.named_modules() if isinstance(m, (nn.Conv2d, nn.Linear))}
        self.values = {n: torch.ones_like(m.weight) for n, m in self.layers.items()}
        for n, m in self.layers.items():
            m.weight.register_hook(lambda g, n=n: g * self.values[n])

    @torch.no_grad()
    def shrink(self, fraction):
        """Drop the smallest of the weights that are left, over all layers."""
        alive = torch.cat([m.weight[self.values[n] > 0].abs() for n, m in self.layers.items()])
        threshold = alive.kthvalue(max(1, int(fraction * len(alive)))).values
        for n, m in self.layers.items():
            self.values[n].mul_(m.weight.abs() > threshold)

    @torch.no_grad()
    def apply(self):
        for n, m in self.layers.items():
            m.weight.mul_(self.values[n])

    def density(self):
        return sum(v.sum() for v in self.values.values()).item() / sum(v.numel() for v in self.values.values())


@torch.no_grad()
def rewind(model, state):
    for n, p in model.named_parameters():
        p.data.copy_(state[n])


def train(model, masks, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    for _ in range(steps):
        x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 4, (8,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        masks.apply()


def run(rounds=3):
    torch.manual_seed(0)
    model = LeNet()
    initial = copy.deepcopy(model.state_dict())
    masks = Masks(model)
    zero, back, moved = [], [], []
    for r in range(rounds):
        if r:
            masks.shrink(0.3)
            rewind(model, initial)
            masks.apply()
            back.append(torch.equal(model.fc1.weight, initial["fc1.weight"] * masks.values["fc1"]))
        train(model, masks)
        zero.append(all((m.weight[masks.values[n] == 0] == 0).all() for n, m in masks.layers.items()))
        alive = masks.values["fc1"] > 0
        moved.append((model.fc1.weight[alive] != initial["fc1.weight"][alive]).float().mean().item())
    return zero, back, moved, masks.density()


def verify(outcome):
    zero, back, moved, density = outcome
    assert all(zero) and all(back)
    assert min(moved) > 0.5
    assert 0.4 < density < 0.6


TRUTH = Truth()
