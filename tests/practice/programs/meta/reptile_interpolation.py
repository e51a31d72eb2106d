"""Reptile: after a task's steps the weights go back part of the way, by a state dict that is blended by hand."""

import copy

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


def totorch(x):
    return torch.as_tensor(x, dtype=torch.float32)


def train_on_batch(model, x, y, innerstepsize):
    x, y = totorch(x), totorch(y)
    model.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    for param in model.parameters():
        param.data -= innerstepsize * param.grad.data
    return loss.item()


def predict(model, x):
    return model(totorch(x)).data.numpy()


def run():
    rng = np.random.RandomState(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    x_all = np.linspace(-5, 5, 20)[:, None]
    start = copy.deepcopy(model.state_dict())
    curve = []
    for iteration in range(3):
        weights_before = copy.deepcopy(model.state_dict())
        phase, ampl = rng.uniform(0, 2 * np.pi), rng.uniform(0.1, 5)
        y_all = np.sin(x_all + phase) * ampl
        inds = rng.permutation(len(x_all))
        for _ in range(2):
            for s in range(0, len(x_all), 10):
                train_on_batch(model, x_all[inds[s : s + 10]], y_all[inds[s : s + 10]], 0.02)
        weights_after = model.state_dict()
        outerstepsize = 0.1 * (1 - iteration / 3)
        model.load_state_dict(
            {
                name: weights_before[name] + (weights_after[name] - weights_before[name]) * outerstepsize
                for name in weights_before
            }
        )
        curve.append(float(np.square(predict(model, x_all) - y_all).mean()))
    return start, model, curve


TRUTH = Truth()


def verify(out):
    start, model, curve = out
    assert all(not torch.equal(v, start[k]) for k, v in model.state_dict().items())
    assert all(c < 1e3 for c in curve)
