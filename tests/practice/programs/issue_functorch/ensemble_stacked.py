"""vmap ensemble: the stacked parameters are copies, but the optimizer holds the parameters of the single models."""

import copy

import torch
import torch.nn as nn
from torch.func import functional_call, stack_module_state, vmap

from tests.practice.truth import Truth

NUM_MODELS = 3


class SimpleMLP(nn.Module):
    def __init__(self, n_in=4, width=16):
        super().__init__()
        self.fc1 = nn.Linear(n_in, width)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Ensemble:
    def __init__(self, n):
        self.models = [SimpleMLP() for _ in range(n)]
        self.params, self.buffers = stack_module_state(self.models)
        self.base = copy.deepcopy(self.models[0]).to("meta")

    def parameters(self):
        return [p for m in self.models for p in m.parameters()]  # cause

    def __call__(self, x):
        def single(params, buffers, x):
            return functional_call(self.base, (params, buffers), (x,))

        return vmap(single, in_dims=(0, 0, None))(self.params, self.buffers, x)


def run():
    torch.manual_seed(6)
    ensemble = Ensemble(NUM_MODELS)
    optimizer = torch.optim.Adam(ensemble.parameters(), lr=1e-2)  # also
    x = torch.randn(20, 4)
    y = (x[:, :1] - x[:, 1:2]).abs()
    losses = []
    for _ in range(4):
        pred = ensemble(x)  # [models, batch, 1]
        loss = (pred - y).pow(2).mean(dim=(1, 2)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    uncertainty = ensemble(x).std(0).mean()
    return losses, uncertainty


def verify(outcome):
    losses, _ = outcome
    assert len(set(losses)) == 1, losses


TRUTH = Truth(
    fault="stack_module_state makes new leaf tensors, which get the gradients; the optimizer has the original parameters, which get none",
    names=("stack_module_state",),
    repair=("return list(self.params.values())",),
)
