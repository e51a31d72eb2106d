"""A residual quantiser detaches both sides of the commitment term."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Quantiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.books = nn.ParameterList(nn.Parameter(torch.randn(8, 4)) for _ in range(2))

    def forward(self, x):
        residual, out, loss = x, 0.0, 0.0
        for book in self.books:
            code = book[torch.cdist(residual.detach(), book.detach()).argmin(-1)]
            loss = loss + F.mse_loss(code, residual.detach())
            loss = loss + 0.25 * F.mse_loss(residual.detach(), code.detach())  # cause
            residual, out = residual - code.detach(), out + code
        return x + (out - x).detach(), loss


def run():
    torch.manual_seed(0)
    encoder, quantiser, decoder = nn.Linear(6, 4), Quantiser(), nn.Linear(4, 6)
    modules = nn.ModuleList([encoder, quantiser, decoder])
    opt = torch.optim.Adam(modules.parameters(), lr=1e-2)
    x = torch.randn(16, 6)
    z, loss = quantiser(encoder(x))
    opt.zero_grad()
    loss.backward(retain_graph=True)
    committed = encoder.weight.grad
    F.mse_loss(decoder(z), x).backward()
    opt.step()
    return committed


def verify(out):
    assert out is None


TRUTH = Truth(
    fault="the commitment term has no gradient",
    repair=("loss = loss + 0.25 * F.mse_loss(residual, code.detach())",),
)
