"""Cold start: the rows of users who have just come are filled with the mean of the others, in place on the leaf."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MatrixFactorisation(nn.Module):
    def __init__(self, users, items, dim=6):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.user_bias = nn.Embedding(users, 1)
        nn.init.zeros_(self.user_bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.user_bias(u).squeeze(-1)

    def warm_start(self, fresh, known):
        self.user.weight[fresh] = self.user.weight[known].mean(0)  # cause


def epoch(model, opt, users, items, ratings):
    for u, i, r in zip(users.split(16), items.split(16), ratings.split(16)):
        opt.zero_grad()
        loss = F.mse_loss(model(u, i), r)
        loss.backward()
        opt.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = MatrixFactorisation(20, 15)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
    users, items, ratings = torch.randint(16, (64,)), torch.randint(15, (64,)), torch.rand(64) * 4
    epoch(model, opt, users, items, ratings)
    model.warm_start(torch.arange(16, 20), torch.arange(16))
    return epoch(model, opt, users + 4, items, ratings)


TRUTH = Truth(
    fault="a row of a Parameter is assigned while grad is on",
    raises="a leaf Variable that requires grad is being used in an in-place operation",
    names=("user.weight",),
    repair=("self.user.weight.data[fresh] = self.user.weight.data[known].mean(0)",),
)
