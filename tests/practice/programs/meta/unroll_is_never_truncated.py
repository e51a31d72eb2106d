"""A learned optimizer is trained every few steps; its state goes on with the graph of the segment before."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Updater(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.gru = nn.GRUCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, grad, h):
        h = self.gru(grad.view(-1, 1), h)
        return -0.05 * torch.tanh(self.out(h)).view_as(grad), h


class Trainer:
    def __init__(self, segment=3):
        self.updater = Updater()
        self.meta = torch.optim.Adam(self.updater.parameters(), lr=1e-3)
        self.segment = segment
        self.reset()

    def reset(self):
        self.theta = torch.randn(5, requires_grad=True)
        self.hidden = torch.zeros(5, 8)

    def train_segment(self, x, y):
        total = 0.0
        for _ in range(self.segment):
            loss = F.mse_loss(x @ self.theta, y)
            grad = torch.autograd.grad(loss, self.theta, retain_graph=True)[0].detach()
            update, self.hidden = self.updater(grad, self.hidden)  # also
            self.theta = self.theta + update
            total = total + F.mse_loss(x @ self.theta, y)
        self.meta.zero_grad()
        total.backward()  # symptom
        self.meta.step()
        self.theta = self.theta.detach().requires_grad_()  # cause


def run():
    torch.manual_seed(0)
    trainer = Trainer()
    x = torch.randn(20, 5)
    y = x.sum(1)
    for _ in range(3):
        trainer.train_segment(x, y)


TRUTH = Truth(
    fault="theta is cut between the segments, the hidden state is not",
    raises="Trying to backward through the graph a second time",
    names=("hidden",),
    repair=("self.theta = self.theta.detach().requires_grad_()\nself.hidden = self.hidden.detach()",),
)
