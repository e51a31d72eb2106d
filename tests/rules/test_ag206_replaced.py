"""AG206: sums that begin with zeros, and of which each round replaces what the round before computed."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X, Y = torch.randn(6, 4), torch.tensor([0, 1, 0, 1, 1, 0])


class Heads(nn.Module):
    def __init__(self, count=3):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(count))

    def forward(self, x):
        return [head(self.trunk(x).tanh()) for head in self.heads]


def trained(net, loss_of):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(net).backward()
        optimizer.step()


def test_loss_of_the_last_round_alone():
    """The heads of the other rounds get no gradient, which is told as what follows; a sum is fine."""

    def replaced(net):
        loss = torch.zeros(())
        for out in net(X):
            loss = F.cross_entropy(out, Y)
        return loss / 3

    def added(net):
        loss = torch.zeros(())
        for out in net(X):
            loss = loss + F.cross_entropy(out, Y)
        return loss / 3

    diagnosed(
        lambda: trained(Heads(), replaced), "AG206", "loss = F.cross_entropy", "net.heads.0.weight", "loss + ...",
        severity="warning", where=replaced,
    )  # fmt: skip
    calm(lambda: trained(Heads(), added))


class Adjoint(torch.autograd.Function):
    """`x` times `w`, four times, with a backward that goes over the steps."""

    @staticmethod
    def forward(ctx, x, w, add):
        ctx.save_for_backward(x, w)
        ctx.add = add
        return x * w**4

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        summed = torch.zeros_like(w)
        state = [x * w**k for k in range(4)]
        for k in range(3, -1, -1):
            with torch.enable_grad():
                here, weight = state[k].detach().requires_grad_(), w.detach().requires_grad_()
                grad, term = torch.autograd.grad(here * weight, (here, weight), grad)
            summed = summed + 1.0 * term if ctx.add else 1.0 * term
        return grad, summed, None


def test_gradient_that_a_backward_integrates():
    """An adjoint that keeps the parameters' gradient of its last step only returns a wrong one."""

    def program(*, add):
        net, w = nn.Linear(4, 4), nn.Parameter(torch.full((6, 4), 0.9))
        optimizer = torch.optim.SGD([*net.parameters(), w], lr=0.1)
        Adjoint.apply(net(X), w, add).sum().backward()
        optimizer.step()

    diagnosed(
        lambda: program(add=False), "AG206", "else 1.0 * term", "Adjoint.backward", severity="warning",
        where=Adjoint.backward,
    )  # fmt: skip
    calm(lambda: program(add=True))


def test_rounds_of_which_the_last_is_asked_for():
    """A recurrent net that reads its last output alone, and a state that is refined, begin with zeros as well."""

    def recurrent(net):
        state, out = torch.zeros(6, 4), torch.zeros(6, 2)
        for _ in range(3):
            state = (net.trunk(X) + state).tanh()
            out = net.heads[0](state) * 1.0
        return F.cross_entropy(out, Y)

    def refined(net):
        guess = torch.zeros(6, 4)
        for _ in range(3):
            guess = net.trunk(guess + X)
        return net.heads[0](guess).square().mean()

    calm(*(lambda loss=loss: trained(Heads(1), loss) for loss in (recurrent, refined)))
