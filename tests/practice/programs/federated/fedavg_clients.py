"""Federated averaging: the clients' states are references into one worker model, the last client wins."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SensorNet(nn.Module):
    def __init__(self, width=6, classes=3):
        super().__init__()
        self.fc1 = nn.Linear(width, 16)
        self.fc2 = nn.Linear(16, classes)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Client:
    def __init__(self, n, shift):
        self.x = torch.randn(n, 6) + shift
        self.y = (self.x.sum(-1) * 0.5).long().clamp(0, 2)

    def train(self, model, epochs=2, lr=0.1):
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        for _ in range(epochs):
            optimizer.zero_grad()
            F.cross_entropy(model(self.x), self.y).backward()
            optimizer.step()
        return len(self.x)


class Server:
    def __init__(self, clients):
        self.global_model = SensorNet()
        self.worker = SensorNet()
        self.clients = clients

    def round(self):
        states, sizes, seen = [], [], []
        for client in self.clients:
            self.worker.load_state_dict(self.global_model.state_dict())
            sizes.append(client.train(self.worker))
            states.append(self.worker.state_dict())  # cause
            seen.append(self.worker.fc1.weight.detach().clone())
        self.aggregate(states, sizes)
        return seen, sizes

    @torch.no_grad()
    def aggregate(self, states, sizes):
        total = sum(sizes)
        average = {}
        for key in states[0]:
            average[key] = sum(state[key] * (n / total) for state, n in zip(states, sizes))
        self.global_model.load_state_dict(average)


def run():
    torch.manual_seed(0)
    server = Server([Client(20, -1.0), Client(30, 0.0), Client(10, 2.0)])
    for _ in range(2):
        seen, sizes = server.round()
    expected = sum(w * n for w, n in zip(seen, sizes)) / sum(sizes)
    return server.global_model.fc1.weight.detach(), seen[-1], expected


def verify(outcome):
    result, last_client, expected = outcome
    assert torch.allclose(result, last_client, atol=1e-6)
    assert not torch.allclose(result, expected, atol=1e-4)


TRUTH = Truth(
    fault="state_dict() refers to the worker's live weights: all collected states are those of the last client",
    names=("state_dict", "worker"),
    repair=("states.append({k: v.detach().clone() for k, v in self.worker.state_dict().items()})",),
)
