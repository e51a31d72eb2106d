"""DP-SGD by hand: the gradient is not cleared between the samples whose clipped gradients are summed."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PrivateTrainer:
    def __init__(self, model, bound=1.0, noise=0.1, lr=0.1):
        self.model, self.bound, self.noise = model, bound, noise
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def clipped(self):
        params = [p for p in self.model.parameters() if p.grad is not None]
        norm = torch.stack([p.grad.norm() for p in params]).norm()
        factor = (self.bound / (norm + 1e-6)).clamp(max=1.0)
        return [p.grad.detach() * factor for p in params]

    def step(self, xs, ys):
        summed = [torch.zeros_like(p) for p in self.model.parameters()]
        self.optimizer.zero_grad()
        for x, y in zip(xs, ys):
            loss = F.cross_entropy(self.model(x.unsqueeze(0)), y.unsqueeze(0))
            loss.backward()  # cause
            for total, grad in zip(summed, self.clipped()):
                total.add_(grad)
        for p, total in zip(self.model.parameters(), summed):
            p.grad = (total + self.noise * self.bound * torch.randn_like(total)) / len(xs)
        self.optimizer.step()
        return [t.norm().item() for t in summed]


class Client:
    def __init__(self, n=8):
        self.x, self.y = torch.randn(n, 5), torch.randint(0, 3, (n,))


def federate(server, clients, rounds=2):
    norms = []
    for _ in range(rounds):
        states = []
        for client in clients:
            local = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3))
            local.load_state_dict(server.state_dict())
            trainer = PrivateTrainer(local)
            norms.append(trainer.step(client.x, client.y))
            states.append(local.state_dict())
        server.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    return norms


def run():
    torch.manual_seed(0)
    server = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3))
    clients = [Client() for _ in range(2)]
    norms = federate(server, clients)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3))
    x, y = torch.randn(8, 5), torch.randint(0, 3, (8,))
    trainer, right = PrivateTrainer(model, noise=0.0), []
    for a, b in zip(x, y):
        model.zero_grad()
        F.cross_entropy(model(a.unsqueeze(0)), b.unsqueeze(0)).backward()
        right.append(trainer.clipped()[0])
    state = {k: v.clone() for k, v in model.state_dict().items()}
    got = trainer.step(x, y)[0]
    model.load_state_dict(state)
    return got, torch.stack(right).sum(0).norm().item(), norms


def verify(out):
    got, right, _ = out
    assert abs(got - right) > 1e-3


TRUTH = Truth(
    fault="each sample's gradient contains those of the samples before it",
    names=("zero_grad",),
    repair=("self.optimizer.zero_grad()\nloss.backward()",),
)
