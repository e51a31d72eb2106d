"""The clients send gradients; the server adds them to `.grad`, steps, and never clears."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Client:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.x = torch.randn(24, 6, generator=generator)
        self.y = (self.x.sum(1) > 0).float()

    def gradients(self, server):
        model = copy.deepcopy(server)
        model.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(self.x).squeeze(1), self.y)
        loss.backward()
        return [p.grad for p in model.parameters()], len(self.x)


def aggregate(server, received):
    total = sum(size for _, size in received)
    for grads, size in received:
        for p, grad in zip(server.parameters(), grads):
            share = grad * size / total
            p.grad = share if p.grad is None else p.grad + share


def run():
    torch.manual_seed(0)
    server = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    opt = torch.optim.SGD(server.parameters(), lr=0.2)
    clients = [Client(seed) for seed in range(4)]
    norms = []
    for _ in range(4):
        chosen = [clients[i] for i in torch.randperm(4)[:2].tolist()]
        sent = [client.gradients(server) for client in chosen]
        aggregate(server, sent)
        norms.append((server[0].weight.grad, sum(g[0] for g, _ in sent) / 2))
        opt.step()  # cause
    return norms[-1]


def verify(out):
    held, sent = out
    assert not torch.allclose(held, sent)


TRUTH = Truth(
    fault="every round also contains the gradients of all earlier ones",
    repair=("opt.step()\nopt.zero_grad()",),
)
