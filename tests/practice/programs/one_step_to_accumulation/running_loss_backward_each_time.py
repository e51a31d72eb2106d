"""One step to accumulation: the loss is summed over the window, and backward() of the sum runs at each micro-batch, with retain_graph to quiet it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class GraphNet(nn.Module):
    def __init__(self, features=5, classes=3):
        super().__init__()
        self.message = nn.Linear(features, 8)
        self.out = nn.Linear(8, classes)

    def forward(self, x, adjacency):
        return self.out(F.relu(adjacency @ self.message(x))).mean(dim=0)


def random_graph(nodes=6):
    adjacency = (torch.rand(nodes, nodes) > 0.5).float() + torch.eye(nodes)
    return torch.randn(nodes, 5), adjacency / adjacency.sum(dim=1, keepdim=True), torch.randint(0, 3, (1,))


def window_step(model, optimizer, graphs):
    optimizer.zero_grad()
    total = 0.0
    for x, adjacency, label in graphs:
        total = total + F.cross_entropy(model(x, adjacency)[None], label) / len(graphs)  # also
        total.backward(retain_graph=True)  # cause
    used = model.out.weight.grad.clone()
    optimizer.step()
    return used


def exact(model, graphs):
    loss = sum(F.cross_entropy(model(x, adjacency)[None], label) for x, adjacency, label in graphs) / len(graphs)
    return torch.autograd.grad(loss, model.out.weight)[0]


def run():
    torch.manual_seed(0)
    model = GraphNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pairs = []
    for _ in range(3):
        graphs = [random_graph() for _ in range(3)]
        right = exact(model, graphs)
        pairs.append((right, window_step(model, optimizer, graphs)))
    return pairs


def verify(pairs):
    assert all(not torch.allclose(right, used, rtol=1e-3, atol=1e-5) for right, used in pairs)


TRUTH = Truth(
    fault="the first micro-batch's gradient is counted three times, the second's twice: backward of a running sum",
    names=("backward",),
    repair=("total.backward()\ntotal = total.detach()",),
)
