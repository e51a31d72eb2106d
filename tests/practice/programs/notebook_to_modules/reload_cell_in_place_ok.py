"""Notebook to module, healthy: cells share a state dict; the reload cell loads weights in place, so that the optimizer made before stays right."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Notebook:
    """The cells as methods, in the order of the notebook."""

    def cell_1_model(self):
        self.model = nn.Sequential(nn.Linear(4, 10), nn.GELU(), nn.Linear(10, 1))

    def cell_2_optimizer(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def cell_3_data(self):
        self.x = torch.randn(32, 4)
        self.y = self.x.square().sum(dim=1, keepdim=True)

    def cell_4_train(self, steps):
        self.model.train()
        for _ in range(steps):
            loss = F.mse_loss(self.model(self.x), self.y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def cell_5_checkpoint(self):
        self.best = copy.deepcopy({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()})

    def cell_6_back_to_best(self):
        self.model.load_state_dict(self.best["model"])
        self.optimizer.load_state_dict(copy.deepcopy(self.best["optimizer"]))
        self.optimizer.zero_grad()

    def cell_7_plot(self):
        self.model.eval()
        with torch.no_grad():
            self.curve = self.model(torch.linspace(-1, 1, 5)[:, None].expand(5, 4)).flatten().tolist()
        self.model.train()


def run():
    torch.manual_seed(0)
    book = Notebook()
    book.cell_1_model()
    book.cell_2_optimizer()
    book.cell_3_data()
    book.cell_4_train(2)
    book.cell_5_checkpoint()
    book.cell_4_train(2)
    once = book.model[0].weight.detach().clone()
    book.cell_6_back_to_best()
    book.cell_7_plot()
    start = book.model[0].weight.detach().clone()
    book.cell_4_train(2)
    return once, start, book.model[0].weight.detach()


def verify(outcome):
    once, start, twice = outcome
    assert not torch.equal(start, twice) and torch.allclose(once, twice)


TRUTH = Truth()
