"""Meta-learning: a hypernetwork makes the weights of a target net that has no parameters of its own in the optimizer; healthy."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

from tests.practice.truth import Truth


class HyperNetwork(nn.Module):
    """One embedding per client, a trunk, and one head for each tensor of the target."""

    def __init__(self, target, n_clients, emb=4, hidden=16):
        super().__init__()
        self.embeddings = nn.Embedding(n_clients, emb)
        self.trunk = nn.Sequential(
            nn.Linear(emb, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, hidden), nn.ReLU(inplace=True)
        )
        self.shapes = {n: p.shape for n, p in target.named_parameters()}
        self.heads = nn.ModuleDict(
            {n.replace(".", "-"): nn.Linear(hidden, p.numel()) for n, p in target.named_parameters()}
        )

    def forward(self, idx):
        h = self.trunk(self.embeddings(idx))
        return {n: self.heads[n.replace(".", "-")](h).view(shape) for n, shape in self.shapes.items()}


class Target(nn.Module):
    def __init__(self, inputs=5, hidden=8, classes=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(inputs, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def local_training(target, weights, data, steps=3, lr=0.05):
    """A client's own SGD on a copy of the weights it was sent (pFedHN)."""
    net = copy.deepcopy(target)
    with torch.no_grad():
        for n, p in net.named_parameters():
            p.copy_(weights[n])
    net.requires_grad_(True)
    inner = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for x, y in data[:steps]:
        inner.zero_grad()
        F.cross_entropy(net(x), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 50)
        inner.step()
    return {n: p.detach() for n, p in net.named_parameters()}


def federated_round(hnet, target, optimizer, client, data):
    weights = hnet(torch.tensor(client))
    final = local_training(target, weights, data)
    delta = {n: (weights[n] - final[n]).detach() for n in weights}
    optimizer.zero_grad()
    grads = torch.autograd.grad(list(weights.values()), list(hnet.parameters()), grad_outputs=list(delta.values()))
    for p, g in zip(hnet.parameters(), grads):
        p.grad = g
    nn.utils.clip_grad_norm_(hnet.parameters(), 50)
    optimizer.step()


def joint_step(hnet, target, optimizer, client, batch):
    x, y = batch
    optimizer.zero_grad()
    F.cross_entropy(functional_call(target, hnet(torch.tensor(client)), (x,)), y).backward()
    optimizer.step()


@torch.no_grad()
def evaluate(hnet, target, clients):
    hnet.eval()
    scores = []
    for client, data in clients.items():
        weights = hnet(torch.tensor(client))
        scores += [(functional_call(target, weights, (x,)).argmax(1) == y).float().mean().item() for x, y in data]
    hnet.train()
    return sum(scores) / len(scores)


def run():
    torch.manual_seed(0)
    target = Target().requires_grad_(False)
    clients = {c: [(torch.randn(6, 5) + c, torch.randint(0, 3, (6,))) for _ in range(3)] for c in range(3)}
    hnet = HyperNetwork(target, n_clients=len(clients))
    optimizer = torch.optim.Adam(hnet.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in hnet.named_parameters()}
    fixed = copy.deepcopy(target.state_dict())
    for rnd in range(4):
        client = rnd % len(clients)
        federated_round(hnet, target, optimizer, client, clients[client])
        joint_step(hnet, target, optimizer, client, clients[client][0])
        evaluate(hnet, target, clients)
    return before, hnet, fixed, target


def verify(outcome):
    before, hnet, fixed, target = outcome
    assert all(not torch.equal(p, before[n]) for n, p in hnet.named_parameters())
    assert all(
        torch.equal(t, fixed[n]) and target.get_parameter(n).grad is None for n, t in target.state_dict().items()
    )


TRUTH = Truth()
