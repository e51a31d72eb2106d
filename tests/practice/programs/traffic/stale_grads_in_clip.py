"""Traffic forecasting: optimizer clears only its own parameters, the others' gradients grow and the common clipping norm with them."""

import torch
from torch import nn

from tests.practice.truth import Truth

SENSORS = 6


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(SENSORS) + 0.05 * torch.randn(SENSORS, SENSORS))
        self.lin = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.lin(self.mix.softmax(-1) @ x)


class TrafficNet(nn.Module):
    def __init__(self, history=8):
        super().__init__()
        self.spatial = GraphConv(history, 16)
        self.readout = nn.Linear(16, 1)

    def forward(self, x):
        return self.readout(torch.relu(self.spatial(x))).squeeze(-1)


def transfer_to_new_city(model, lr=0.05):
    """Only the readout is fitted; the road graph stays as it was learned."""
    return torch.optim.SGD(model.readout.parameters(), lr=lr)


def counts(n, history=8):
    speed = 50 + 10 * torch.randn(n, SENSORS, history + 1).cumsum(-1) * 0.1
    speed = (speed - 50) / 10
    return speed[..., :-1], speed[..., -1] + 2


def run():
    torch.manual_seed(0)
    model = TrafficNet()
    optimizer = transfer_to_new_city(model)
    x, y = counts(32)
    share = []
    for _ in range(5):
        optimizer.zero_grad()  # cause
        loss = (model(x) - y).abs().mean()
        fresh = torch.autograd.grad(loss, list(model.readout.parameters()), retain_graph=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=2.0)
        share.append((model.readout.weight.grad.norm() / fresh[0].norm()).item())
        optimizer.step()
    return share


def verify(outcome):
    assert outcome[0] > 0.99
    assert outcome[-1] < 0.9, outcome


TRUTH = Truth(
    fault="the graph layer's gradients are never cleared, so they take ever more of the clipping norm from the readout",
    names=("spatial", "zero_grad"),
    repair=("model.zero_grad()",),
)
