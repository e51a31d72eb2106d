"""SCAFFOLD: every client trains in the same worker, and what they send back is the worker's live state_dict."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Client:
    def __init__(self, cid, x, y, lr=0.1, local_steps=4):
        self.cid, self.x, self.y = cid, x, y
        self.lr, self.local_steps = lr, local_steps
        self.control = None

    def update(self, worker, global_state, c_global):
        worker.load_state_dict(global_state)
        if self.control is None:
            self.control = {n: torch.zeros_like(p) for n, p in worker.named_parameters()}
        opt = torch.optim.SGD(worker.parameters(), lr=self.lr)
        for _ in range(self.local_steps):
            opt.zero_grad()
            loss = F.cross_entropy(worker(self.x), self.y)
            loss.backward()
            for n, p in worker.named_parameters():  # drift correction
                p.grad.add_(c_global[n] - self.control[n])
            opt.step()
        with torch.no_grad():
            for n, p in worker.named_parameters():
                drift = (global_state[n] - p) / (self.local_steps * self.lr)
                self.control[n] = self.control[n] - c_global[n] + drift
        print(f"  client {self.cid} loss {loss.item():.4f}")
        return worker.state_dict()  # cause


class Server:
    def __init__(self, clients):
        self.model, self.worker = Mlp(), Mlp()
        self.clients = clients
        self.c_global = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}

    def aggregate(self, states):
        mean = {k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]}  # symptom
        self.model.load_state_dict(mean)

    def round(self):
        states = [c.update(self.worker, self.model.state_dict(), self.c_global) for c in self.clients]
        self.aggregate(states)
        for n in self.c_global:
            self.c_global[n] = torch.stack([c.control[n] for c in self.clients]).mean(0)
        return states


def run():
    torch.manual_seed(0)
    server = Server([Client(i, torch.randn(12, 5) + i, torch.full((12,), i)) for i in range(3)])
    for r in range(2):
        print(f"round {r}")
        states = server.round()
    return states


def verify(out):
    first, _, last = out
    assert all(torch.equal(first[k], last[k]) for k in first)


TRUTH = Truth(
    fault="the clients' updates are one and the same live state_dict, so the mean is the last client's",
    names=("state_dict",),
    repair=("return {k: v.detach().clone() for k, v in worker.state_dict().items()}",),
)
