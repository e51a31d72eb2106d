"""A compiled feature selector with hard Gumbel choices and their straight-through gradient: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Selector(nn.Module):
    def __init__(self, features=9, picked=3):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(picked, features) * 0.1)
        self.predict = nn.Linear(picked, 1)

    def forward(self, x, noise, tau):
        soft = torch.softmax((self.logits + noise) / tau, dim=-1)
        index = soft.argmax(-1, keepdim=True)
        hard = torch.zeros_like(soft).scatter_(-1, index, 1.0)
        choice = hard - soft.detach() + soft
        return self.predict(x @ choice.t()), choice, soft


def run():
    torch.manual_seed(0)
    model = Selector()
    forward = torch.compile(model, backend=BACKEND, dynamic=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    seen = []
    for step, size in enumerate((16, 16, 12, 7)):
        x = torch.randn(size, 9)
        noise = -torch.log(-torch.log(torch.rand(3, 9).clamp(1e-6, 1 - 1e-6)))
        tau = max(0.5, 2.0 * 0.8**step)
        y, choice, _ = forward(x, noise, tau)
        loss = F.mse_loss(y, x[:, :1] - x[:, 4:5])
        optimizer.zero_grad()
        loss.backward()
        with torch.enable_grad():  # the same gradient, of the soft choice, by hand
            soft = torch.softmax((model.logits + noise) / tau, dim=-1)
            error = 2 * (y - x[:, :1] + x[:, 4:5]).detach() / size
            wanted = torch.autograd.grad(soft, model.logits, (error @ model.predict.weight.detach()).t() @ x)[0]
        seen.append((model.logits.grad.clone(), wanted, choice.detach()))
        optimizer.step()
    return seen


def verify(outcome):
    for got, wanted, choice in outcome:
        assert torch.allclose(got, wanted, atol=1e-5) and got.abs().max() > 0
        assert torch.allclose(choice.max(-1).values, torch.ones(3), atol=1e-6)


TRUTH = Truth()
