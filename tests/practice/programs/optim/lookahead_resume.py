"""Lookahead around Adam, resumed: the slow weights were copied before the checkpoint was loaded."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Lookahead:
    """k fast steps, then the slow weights move towards the fast ones and these start again from there."""

    def __init__(self, optimizer, k=2, alpha=0.5):
        self.optimizer, self.k, self.alpha, self.counter = optimizer, k, alpha, 0
        self.slow = [[p.detach().clone() for p in group["params"]] for group in optimizer.param_groups]  # also

    def zero_grad(self):
        self.optimizer.zero_grad()

    @torch.no_grad()
    def step(self):
        self.optimizer.step()
        self.counter += 1
        if self.counter % self.k == 0:
            for group, slow in zip(self.optimizer.param_groups, self.slow):
                for p, s in zip(group["params"], slow):
                    s.add_(p - s, alpha=self.alpha)
                    p.copy_(s)

    def state_dict(self):
        return {"fast": self.optimizer.state_dict(), "counter": self.counter}

    def load_state_dict(self, state):
        self.optimizer.load_state_dict(state["fast"])
        self.counter = state["counter"]  # cause


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU())
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def build():
    model = Net()
    return model, Lookahead(torch.optim.Adam(model.parameters(), lr=1e-3), k=2)


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(32, 10)
        loss = F.mse_loss(model(x), x.sum(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def save(model, optimizer):
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    return file


def resume(file):
    model, optimizer = build()
    checkpoint = torch.load(file)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return model, optimizer


def distance(model, reference):
    return max((p.detach() - r).abs().max().item() for p, r in zip(model.parameters(), reference))


def run():
    torch.manual_seed(0)
    model, optimizer = build()
    train(model, optimizer, 2)
    checkpoint = save(model, optimizer)
    reference = [p.detach().clone() for p in model.parameters()]

    model, optimizer = resume(checkpoint)
    train(model, optimizer, 2)
    return distance(model, reference)


def verify(moved):
    # two steps of Adam with lr 1e-3 cannot move a weight by a tenth of the initial scale
    assert moved > 0.05


TRUTH = Truth(
    fault="after the resume the slow weights are those of a fresh initialisation and pull the model back to it",
    names=("slow",),
    repair=(
        "self.counter = state['counter']\n"
        "self.slow = [[p.detach().clone() for p in group['params']] for group in self.optimizer.param_groups]",
    ),
)
