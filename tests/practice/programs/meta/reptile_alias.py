"""Meta-learning: Reptile's weights before the inner loop are a state_dict without a copy, so the outer step goes nowhere."""

import math
from copy import deepcopy

import torch
import torch.nn as nn

from tests.practice.truth import Truth

inner_stepsize = 0.02
inner_epochs = 1
outer_stepsize0 = 0.1
n_iterations = 4
ntrain = 10


def gen_task():
    phase = float(torch.rand(1)) * 2 * math.pi
    ampl = 0.1 + 4.9 * float(torch.rand(1))
    return lambda x: torch.sin(x + phase) * ampl


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.layers(x)


def train_on_batch(model, x, y):
    model.zero_grad()
    ypred = model(x)
    loss = (ypred - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for param in model.parameters():
            param -= inner_stepsize * param.grad
    return loss.item()


@torch.no_grad()
def predict(model, x):
    return model(x)


def inner_loop(model, f, x_all):
    order = torch.randperm(len(x_all))
    for _ in range(inner_epochs):
        for start in range(0, len(x_all), ntrain):
            mbinds = order[start : start + ntrain]
            train_on_batch(model, x_all[mbinds], f(x_all[mbinds]))


def evaluate(model, x_all, f_plot, xtrain_plot):
    """Fine-tunes on a held-out task, and puts the weights back."""
    weights_before = deepcopy(model.state_dict())
    curve = []
    for inneriter in range(3):
        train_on_batch(model, xtrain_plot, f_plot(xtrain_plot))
        curve.append((predict(model, x_all) - f_plot(x_all)).square().mean().item())
    model.load_state_dict(weights_before)
    return curve


def snapshot(model):
    return model.state_dict()  # cause


def run():
    torch.manual_seed(0)
    model = Net()
    x_all = torch.linspace(-5, 5, 50)[:, None]
    f_plot = gen_task()
    xtrain_plot = x_all[torch.randperm(50)[:ntrain]]
    distances = []
    for iteration in range(n_iterations):
        weights_before = snapshot(model)
        inner_loop(model, gen_task(), x_all)
        weights_after = model.state_dict()
        outerstepsize = outer_stepsize0 * (1 - iteration / n_iterations)
        distances.append(sum(float((weights_after[n] - weights_before[n]).abs().sum()) for n in weights_before))
        model.load_state_dict(
            {
                name: weights_before[name] + (weights_after[name] - weights_before[name]) * outerstepsize
                for name in weights_before
            }
        )
        if iteration % 2 == 0:
            evaluate(model, x_all, f_plot, xtrain_plot)
    return distances


def verify(distances):
    assert max(distances) == 0


TRUTH = Truth(
    fault="weights_before are the live weights: state_dict() was not copied",
    names=("state_dict",),
    repair=("return deepcopy(model.state_dict())",),
)
