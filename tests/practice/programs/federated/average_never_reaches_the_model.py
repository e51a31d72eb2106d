"""FedAvg: the server averages into a dictionary, and never loads it."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    server = nn.Linear(4, 1)
    before = server.weight.detach().clone()
    for _ in range(2):
        states = []
        for _ in range(2):
            client = copy.deepcopy(server)
            opt = torch.optim.SGD(client.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                client(torch.randn(8, 4)).pow(2).mean().backward()
                opt.step()
            states.append(client.state_dict())
        average = server.state_dict()
        for key in average:
            average[key] = torch.stack([state[key] for state in states]).mean(0)  # cause
    return (server.weight - before).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="the average is put into a copy of the dictionary, not into the model",
    repair=("average[key].copy_(torch.stack([state[key] for state in states]).mean(0))",),
)
