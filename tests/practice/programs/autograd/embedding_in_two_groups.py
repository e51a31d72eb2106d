"""Two learning rates for one embedding: the halves given to the optimizer are leaves of their own, without gradients."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Recommender(nn.Module):
    """Items known from pretraining come first, new ones behind."""

    def __init__(self, known=10, new=6, dim=4):
        super().__init__()
        self.known = known
        self.items = nn.Embedding(known + new, dim)
        self.user = nn.GRU(dim, dim, batch_first=True)

    def forward(self, history, candidates):
        _, state = self.user(self.items(history))
        return (self.items(candidates) * state[-1][:, None]).sum(-1)

    def halves(self):
        """Views of the table: the optimizer works in place, so both write into it."""
        table = self.items.weight.detach()
        return table[: self.known].requires_grad_(), table[self.known :].requires_grad_()


def configure(model):
    old, new = model.halves()
    groups = [
        {"params": model.user.parameters(), "lr": 1e-2},
        {"params": [old], "lr": 1e-3},  # cause
        {"params": [new], "lr": 5e-2},
    ]
    return torch.optim.Adam(groups)


def sessions(n):
    for _ in range(n):
        history = torch.randint(0, 16, (8, 5))
        candidates = torch.randint(0, 16, (8, 4))
        yield history, candidates, torch.randint(0, 4, (8,))


def run():
    torch.manual_seed(0)
    model = Recommender()
    optimizer = configure(model)
    before = model.items.weight.detach().clone()
    user = model.user.weight_ih_l0.detach().clone()
    for history, candidates, clicked in sessions(3):
        optimizer.zero_grad()
        F.cross_entropy(model(history, candidates), clicked).backward()
        optimizer.step()
    return torch.equal(before, model.items.weight), torch.equal(user, model.user.weight_ih_l0)


def verify(outcome):
    items, user = outcome
    assert items and not user


TRUTH = Truth(
    fault="the gradients arrive at items.weight; the detached halves never get any and the table is never updated",
    names=("items.weight",),
    repair=('{"params": [model.items.weight], "lr": 1e-3},',),
)
