"""AG201 and AG202: functions under checkpoint that modify what they are given."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained

X = torch.ones(2, 4)


def one_step(function, reentrant, *given):
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trained(optimizer, checkpoint(function, net(X), *given, use_reentrant=reentrant).sum())


def halved(x, mask):
    mask.mul_(0.5)
    return (x * mask).tanh()


def clamped(x, mask):
    mask.clamp_(max=0.5)
    return (x * mask).tanh()


def scaled(x, mask):
    return (x * (mask * 0.5)).tanh()


def test_mask_scaled_under_a_reentrant_checkpoint():
    """Each run halves the mask: recomputation has another one than the forward. Clamping again changes nothing."""
    diagnosed(
        lambda: one_step(halved, True, torch.ones(4)), "AG202", "mask.mul_(0.5)", "twice",
        severity="error", where=halved,
    )  # fmt: skip
    silent(lambda: one_step(clamped, True, torch.ones(4)), lambda: one_step(scaled, True, torch.ones(4)))


def test_mask_scaled_under_a_checkpoint():
    """Without reentrance the checkpoint keeps what it is given, and autograd notices: the mask is named, no weight."""
    diagnosed(
        lambda: one_step(halved, False, torch.ones(4)), "AG201", "mask.mul_(0.5)", "mask",
        severity="error", where=halved,
    )  # fmt: skip
    silent(lambda: one_step(scaled, False, torch.ones(4)))


def test_running_average_that_the_function_keeps():
    """A statistic held outside is updated by recomputation as well, and normalises with another value then."""

    class Normalised(nn.Module):
        def __init__(self, frozen):
            super().__init__()
            self.linear, self.frozen = nn.Linear(4, 4), frozen
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            h = self.linear(x)
            if not self.frozen:
                self.mean.lerp_(h.detach().mean(0), 0.1)
            return ((h - self.mean) * self.mean).tanh()

    def program(frozen):
        net = Normalised(frozen)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, checkpoint(net, X.clone().requires_grad_(), use_reentrant=False).sum())

    diagnosed(
        lambda: program(frozen=False), "AG202", "self.mean.lerp_", "mean", severity="error", where=Normalised.forward
    )
    silent(lambda: program(frozen=True))


def test_counter_that_nothing_reads():
    """A counter of calls counts recomputation too, and no gradient depends on it."""

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls.add_(1)
            return self.linear(x).tanh()

    def program():
        net = Counting()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, checkpoint(net, X.clone().requires_grad_(), use_reentrant=False).sum())

    silent(program)


def test_result_written_through_numpy_inside_the_checkpoint():
    """The recomputed softmax is overwritten as the first one was; what is written before the op reads it is not."""

    def overwritten(x):
        weights = x.softmax(-1)
        weights.detach().numpy()[...] = 0.6
        return weights * weights

    def held_before(x):
        weights = x.exp()
        array = weights.detach().numpy()
        doubled = weights * weights
        array[...] = 0.6
        return doubled

    def prepared(x):
        noise = torch.zeros(2, 4)
        noise.numpy()[...] = 0.6
        return (x * noise).tanh()

    line = "weights.detach().numpy()[...] = 0.6"
    diagnosed(
        lambda: one_step(overwritten, False), "AG202", line, "weights", "checkpoint",
        severity="warning", where=overwritten,
    )  # fmt: skip
    diagnosed(
        lambda: one_step(held_before, False), "AG202", "array[...] = 0.6", "weights", "checkpoint",
        severity="warning", where=held_before,
    )  # fmt: skip
    silent(lambda: one_step(prepared, False))


def test_input_written_through_numpy():
    """What a checkpoint was given is read again: a NumPy write in between is found in the source, as likely."""

    def late():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        hidden = net(X)
        trained(optimizer, checkpoint(lambda h: h.square().tanh(), hidden, use_reentrant=False).sum())
        hidden.detach().numpy()[...] += 1.0

    def sick():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        hidden = net(X)
        loss = checkpoint(lambda h: h.square().tanh(), hidden, use_reentrant=False).sum()
        hidden.detach().numpy()[...] += 1.0
        trained(optimizer, loss)

    diagnosed(sick, "AG202", "hidden.detach().numpy()[...] += 1.0", "hidden", "checkpoint", severity="warning")
    silent(late)
