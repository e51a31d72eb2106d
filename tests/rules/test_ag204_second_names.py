"""AG204: tensors with two names, of which one was taken for a copy, and inputs that a module overwrites."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm


def learn(net, loss_of, steps=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        trained(optimizer, loss_of(torch.randn(4, 8)))


class Denoiser(nn.Module):
    def __init__(self, copied):
        super().__init__()
        self.net, self.copied = nn.Linear(8, 8), copied

    def forward(self, x):
        noisy = x
        if self.copied:
            noisy = x.clone()
        noisy += 0.1 * torch.randn(4, 8)
        return (self.net(noisy) - x).square().mean()


def test_a_second_name_for_a_copy():
    """What is meant to be the clean target has the noise as well; a copy has not."""

    def program(copied):
        net = Denoiser(copied)
        learn(net, net)

    diagnosed(
        lambda: program(copied=False), "AG204", "noisy = x\n", "noisy", "two names", "noisy = x.clone()",
        severity="warning", where=Denoiser.forward,
    )  # fmt: skip
    calm(lambda: program(copied=True))


def targets(rewards, values):
    advantages = rewards - values
    returns = advantages
    returns += values
    return advantages, returns


def test_both_names_are_returned():
    """The caller unpacks them as two tensors."""

    def program():
        actor, critic = nn.Linear(8, 2), nn.Linear(8, 1)

        def loss_of(x):
            with torch.no_grad():
                advantages, returns = targets(torch.randn(4), critic(x).squeeze(-1))
            policy = (actor(x).log_softmax(-1)[:, 0] * advantages).mean()
            return (critic(x).squeeze(-1) - returns).square().mean() - policy

        learn(nn.ModuleList([actor, critic]), loss_of)

    diagnosed(program, "AG204", "returns = advantages", "advantages", "returns", severity="warning", where=targets)


def test_a_tensor_that_is_masked_by_a_helper():
    """The write is in a function that is called with one of the names."""

    def masked(h, token):
        h[:, 0] = token
        return h

    def learnt(loss_of):
        net, token = nn.Linear(8, 8), nn.Parameter(torch.zeros(()))
        learn(nn.ParameterList([*net.parameters(), token]), lambda x: loss_of(net(x), token))

    def aliased(h, token):
        original = h
        out = masked(h, token)
        return ((out - 1).square() + original.sin()).mean()

    def copied(h, token):
        original = h.clone()
        out = masked(h, token)
        return ((out - 1).square() + original.sin()).mean()

    diagnosed(lambda: learnt(aliased), "AG204", "original = h", "original", severity="warning", where=aliased)
    calm(lambda: learnt(copied))


def test_two_names_in_one_assignment():
    """Two moments of an optimizer that is written by hand share one memory."""

    def program():
        w = torch.ones(8, requires_grad=True)
        mean = square = torch.zeros(8)
        for _ in range(3):
            w.square().sum().backward()
            with torch.no_grad():
                mean.mul_(0.9).add_(w.grad, alpha=0.1)
                square.mul_(0.99).addcmul_(w.grad, w.grad, value=0.01)
                w.addcdiv_(mean, square.sqrt() + 1e-8, value=-0.1)
            w.grad = None

    diagnosed(program, "AG204", "mean = square", "mean", "square", severity="warning")


def test_names_that_do_no_harm():
    """A buffer that is renamed when it is filled, a momentum that is handed on, an entry that is to be written."""

    def filled():
        net = nn.Linear(8, 8)

        def loss_of(x):
            out = torch.zeros(4, 8)
            for i in range(4):
                out[i] = net(x[i])
            result = out
            return (result * 2 + out).square().mean()

        learn(net, loss_of)

    def momentum():
        w, buffer = torch.ones(8, requires_grad=True), torch.zeros(8)
        for _ in range(3):
            w.square().sum().backward()
            with torch.no_grad():
                step = w.grad
                buffer.mul_(0.9).add_(step)
                step = buffer
                w.add_(step, alpha=-0.1)
            w.grad = None

    def cached():
        net, cache = nn.Linear(8, 8), {"k": torch.zeros(4, 8)}

        def loss_of(x):
            k = cache["k"]
            k[0] = x[0]
            return (net(k) + cache["k"]).square().mean()

        learn(net, loss_of)

    def written_only():
        net = nn.Linear(8, 8)

        def loss_of(x):
            part = x
            part[:, 0] = 0
            part[:, 1] = 1
            return net(x).square().mean()

        learn(net, loss_of)

    calm(filled, momentum, cached, written_only)


class Skip(nn.Module):
    def __init__(self, act, before=None):
        super().__init__()
        self.stem, self.before = nn.Linear(8, 8), before or nn.Identity()
        self.body = nn.Sequential(act, nn.Linear(8, 8))

    def forward(self, x):
        h = self.before(self.stem(x))
        return (h + self.body(h)).square().mean()


@pytest.mark.parametrize("act", [nn.ReLU, nn.Dropout])
def test_a_skip_connection_behind_a_module_in_place(act):
    """The block's first module writes into the block's input, which the skip connection adds."""

    def program(*, inplace):
        net = Skip(act(inplace=inplace))
        learn(net, net)

    diagnosed(
        lambda: program(inplace=True), "AG204", "h + self.body(h)", f"{act.__name__}(inplace=True)", "input h",
        severity="warning", where=Skip.forward,
    )  # fmt: skip
    calm(lambda: program(inplace=False))


def test_modules_in_place_where_nothing_is_lost():
    """A second ReLU changes nothing; in a residual block the module overwrites what nobody else reads."""

    def twice():
        first, second, body = nn.Linear(8, 8), nn.Linear(8, 8), nn.Sequential(nn.ReLU(inplace=True), nn.Linear(8, 8))

        def loss_of(x):
            h = first(x).relu() + second(x).relu()
            return (h + body(h)).square().mean()

        learn(nn.ModuleList([first, second, body]), loss_of)

    def residual():
        first, second, norm = nn.Linear(8, 8), nn.Linear(8, 8), nn.BatchNorm1d(8)
        act = nn.ReLU(inplace=True)

        def loss_of(x):
            identity = x
            out = act(norm(first(x)))
            out = second(out)
            out += identity
            return act(out).square().mean()

        learn(nn.ModuleList([first, second, norm]), loss_of)

    def rebound():
        net, act = nn.Linear(8, 8), nn.ReLU(inplace=True)

        def loss_of(x):
            h = net(x)
            h = act(h)
            return (h + 1).square().mean()

        learn(net, loss_of)

    calm(twice, residual, rebound)
