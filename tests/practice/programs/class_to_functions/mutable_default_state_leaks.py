"""A class to functions: self.hidden became a mutable default argument; every validation starts from the hidden state of the one before."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def make_parameters(inputs=3, width=8):
    cell = nn.GRUCell(inputs, width)
    readout = nn.Linear(width, 1)
    return nn.ModuleDict({"cell": cell, "readout": readout})


def reset(state):
    state.clear()


def unroll(parameters, sequence, state={}):  # cause
    """state: carried between the chunks of one sequence"""
    hidden = state.get("hidden")
    if hidden is None:
        hidden = torch.zeros(sequence.shape[0], 8)
    outputs = []
    for x in sequence.unbind(dim=1):
        hidden = parameters["cell"](x, hidden)
        outputs.append(parameters["readout"](hidden))
    state["hidden"] = hidden.detach()
    return torch.cat(outputs, dim=1)


def train_sequence(parameters, optimizer, sequence):
    state = {}
    for chunk in sequence.split(4, dim=1):
        optimizer.zero_grad()
        F.mse_loss(unroll(parameters, chunk, state), chunk.mean(dim=-1)).backward()
        optimizer.step()


@torch.no_grad()
def validate(parameters, sequence):
    return unroll(parameters, sequence)


def run():
    torch.manual_seed(0)
    parameters = make_parameters()
    optimizer = torch.optim.Adam(parameters.parameters(), lr=1e-2)
    held_out = torch.randn(4, 6, 3)
    for _ in range(3):
        train_sequence(parameters, optimizer, torch.randn(4, 8, 3))
    return validate(parameters, held_out), validate(parameters, held_out)


def verify(outcome):
    first, second = outcome
    assert not torch.equal(first, second)


TRUTH = Truth(
    fault="the default dict lives on between calls: each validation starts from the previous one's hidden state",
    names=("state",),
    repair=("def unroll(parameters, sequence, state=None):\n    state = {} if state is None else state",),
)
