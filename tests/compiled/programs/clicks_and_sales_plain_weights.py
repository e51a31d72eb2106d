"""A recommender with two tasks: the learned task weights of the compiled model are tensors that nobody registers."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class TwoTasks(nn.Module):
    def __init__(self, users=20, items=30, width=6):
        super().__init__()
        self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
        self.click = nn.Sequential(nn.Linear(2 * width, 8), nn.ReLU(), nn.Linear(8, 1))
        self.sale = nn.Sequential(nn.Linear(2 * width, 8), nn.ReLU(), nn.Linear(8, 1))
        self.log_vars = [torch.zeros((), requires_grad=True) for _ in range(2)]  # cause

    def forward(self, user, item, clicked, bought):
        x = torch.cat([self.user(user), self.item(item)], -1)
        click, sale = self.click(x).squeeze(-1), self.sale(x).squeeze(-1)
        both = click.sigmoid() * sale.sigmoid()
        losses = (
            F.binary_cross_entropy_with_logits(click, clicked),
            F.binary_cross_entropy(both.clamp(1e-6, 1 - 1e-6), bought),
        )
        return sum((-s).exp() * loss + s for s, loss in zip(self.log_vars, losses))


def run():
    torch.manual_seed(0)
    model = TwoTasks()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    sizes = []
    for _ in range(4):
        user, item = torch.randint(20, (32,)), torch.randint(30, (32,))
        clicked = ((user + item) % 3 == 0).float()
        bought = clicked * (user % 2)
        optimizer.zero_grad()
        model(user, item, clicked, bought).backward()
        optimizer.step()
        sizes.append([s.grad.abs().item() for s in model.log_vars])
    return sizes, [s.item() for s in model.log_vars]


def verify(outcome):
    sizes, values = outcome
    assert values == [0.0, 0.0]
    # their gradients are never zeroed either
    assert sizes[3][1] > 3 * sizes[0][1]


TRUTH = Truth(
    fault="log_vars are in no parameters(): no optimizer step moves them, and their gradients pile up",
    names=("log_vars",),
    repair=("self.log_vars = nn.ParameterList(nn.Parameter(torch.zeros(())) for _ in range(2))",),
)
