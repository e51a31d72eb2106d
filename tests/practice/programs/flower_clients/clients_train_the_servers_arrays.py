"""Flower-like federated averaging: torch.from_numpy shares the server's arrays, so each client trains them in place."""

from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 12)
        self.fc2 = nn.Linear(12, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class FlowerClient:
    def __init__(self, cid, x, y):
        self.cid, self.x, self.y = cid, x, y
        self.net = Net()

    def get_parameters(self):
        return [val.detach().cpu().numpy().copy() for val in self.net.state_dict().values()]

    def set_parameters(self, parameters):
        pairs = zip(self.net.state_dict().keys(), parameters)
        state = OrderedDict((k, torch.from_numpy(v)) for k, v in pairs)
        self.net.load_state_dict(state, strict=True, assign=True)  # cause

    def fit(self, parameters, config):
        self.set_parameters(parameters)
        start = [p.copy() for p in parameters]
        optimizer = torch.optim.SGD(self.net.parameters(), lr=config["lr"], momentum=0.9)
        self.net.train()
        for _ in range(config["local_epochs"]):
            optimizer.zero_grad()
            F.cross_entropy(self.net(self.x), self.y).backward()
            optimizer.step()
        return self.get_parameters(), len(self.x), start


class FedAvg:
    def aggregate_fit(self, results):
        total = sum(n for _, n, _ in results)
        layers = zip(*[[w * n for w in weights] for weights, n, _ in results])
        return [np.sum(layer, axis=0, dtype=np.float32) / np.float32(total) for layer in layers]


def run():
    torch.manual_seed(0)
    clients = []
    for cid in range(3):
        x = torch.randn(12, 6) + cid
        clients.append(FlowerClient(cid, x, torch.full((12,), cid)))
    parameters = [v.numpy().copy() for v in Net().state_dict().values()]
    strategy = FedAvg()
    starts = []
    for _ in range(2):
        results = [client.fit(parameters, {"lr": 0.05, "local_epochs": 2}) for client in clients]
        starts.append([start[0] for _, _, start in results])
        parameters = strategy.aggregate_fit(results)
    return starts


def verify(outcome):
    for first, second, third in outcome:
        assert not np.array_equal(first, second)
        assert not np.array_equal(second, third)


TRUTH = Truth(
    fault="from_numpy with assign=True makes the client's parameters the server's own arrays: the second client begins where the first ended",
    names=("fc1",),
    repair=("self.net.load_state_dict(state, strict=True)",),
)
