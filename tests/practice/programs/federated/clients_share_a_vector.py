"""FedAvg: vector_to_parameters() makes every client a view of one global vector."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth


class MnistNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 36, 5)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))


class Client:
    def __init__(self, number, lr=0.05, local_steps=2):
        self.number, self.lr, self.local_steps = number, lr, local_steps
        self.model = MnistNet()
        generator = torch.Generator().manual_seed(number)
        self.x = torch.randn(8, 1, 8, 8, generator=generator)
        self.y = torch.full((8,), number)  # each has one class alone

    def receive(self, vector):
        vector_to_parameters(vector, self.model.parameters())  # cause

    def train(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.lr, momentum=0.9)
        self.model.train()
        for _ in range(self.local_steps):
            optimizer.zero_grad()
            F.cross_entropy(self.model(self.x), self.y).backward()
            optimizer.step()

    @torch.no_grad()
    def update(self, start):
        return parameters_to_vector(self.model.parameters()) - start


class Server:
    def __init__(self, n_clients, server_lr=1.0):
        self.model = MnistNet()
        self.clients = [Client(i) for i in range(n_clients)]
        self.server_lr = server_lr

    def round(self):
        vector = parameters_to_vector(self.model.parameters()).detach()
        start = vector.clone()
        for client in self.clients:
            client.receive(vector)
        for client in self.clients:
            client.train()
        updates = torch.stack([client.update(start) for client in self.clients])
        new = start + self.server_lr * updates.mean(0)
        vector_to_parameters(new.clone(), self.model.parameters())
        return updates


def run():
    torch.manual_seed(0)
    server = Server(3)
    return [server.round() for _ in range(2)]


def verify(outcome):
    for updates in outcome:
        assert torch.equal(updates[0], updates[1]) and torch.equal(updates[0], updates[2])


TRUTH = Truth(
    fault="the parameters of all clients are views of the one vector: each client trains the others' weights",
    names=("vector_to_parameters",),
    repair=("vector_to_parameters(vector.clone(), self.model.parameters())",),
)
