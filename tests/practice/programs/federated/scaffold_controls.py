"""SCAFFOLD: one worker model is loaded again for each client, control variates are added to .grad, states are cloned: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(7, 16), nn.GroupNorm(4, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.norm(self.fc1(x))))


def snapshot(model):
    return {n: p.detach().clone() for n, p in model.named_parameters()}


class Client:
    def __init__(self, model, shift, n=24):
        self.x = torch.randn(n, 7) + shift
        self.y = (self.x[:, 0] > shift).long() + (self.x[:, 1] > shift).long()
        self.control = {name: torch.zeros_like(p) for name, p in model.named_parameters()}

    def train(self, worker, server_control, lr=0.05, steps=3):
        start = snapshot(worker)
        optimizer = torch.optim.SGD(worker.parameters(), lr=lr)
        worker.train()
        for _ in range(steps):
            pick = torch.randint(0, len(self.x), (12,))
            optimizer.zero_grad()
            F.cross_entropy(worker(self.x[pick]), self.y[pick]).backward()
            with torch.no_grad():
                for name, p in worker.named_parameters():
                    p.grad.add_(server_control[name]).sub_(self.control[name])
            optimizer.step()
        end = snapshot(worker)
        delta, control_delta = {}, {}
        for name in start:
            delta[name] = end[name] - start[name]
            new = self.control[name] - server_control[name] - delta[name] / (steps * lr)
            control_delta[name] = new - self.control[name]
            self.control[name] = new
        return delta, control_delta


class Server:
    def __init__(self, shifts):
        self.model, self.worker = Net(), Net()
        self.control = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        self.clients = [Client(self.model, s) for s in shifts]

    def round(self):
        results = []
        for client in self.clients:
            self.worker.load_state_dict(self.model.state_dict())
            results.append(client.train(self.worker, self.control))
        before, n = snapshot(self.model), len(results)
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                p.add_(sum(delta[name] for delta, _ in results) / n)
                self.control[name] += sum(change[name] for _, change in results) / n
        wanted = {k: before[k] + sum(d[k] for d, _ in results) / n for k in before}
        return all(torch.equal(wanted[k], p) for k, p in self.model.named_parameters())


def run():
    torch.manual_seed(0)
    server = Server([-1.0, 0.0, 1.5])
    start = snapshot(server.model)
    right = [server.round() for _ in range(2)]
    balance = {n: sum(c.control[n] for c in server.clients) / 3 - server.control[n] for n in start}
    return right, start, snapshot(server.model), balance


def verify(outcome):
    right, start, end, balance = outcome
    assert all(right) and all(not torch.equal(start[n], end[n]) for n in start)
    assert all(b.abs().max() < 1e-5 for b in balance.values())


TRUTH = Truth()
