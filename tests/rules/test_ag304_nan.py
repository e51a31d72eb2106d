"""AG304: the first NaN or Inf."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def net_of(width=1):
    torch.manual_seed(3)
    net = nn.Linear(4, width)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def nan(program, culprit, *names, where=None):
    return diagnosed(program, "AG304", culprit, *names, severity="error", where=where, values=True)


def test_log_of_zero():
    """log of a probability that underflowed is -Inf; log_softmax is not."""

    def program(log_of):
        net, optimizer = net_of(2)
        log_p = log_of(net(X) * 1000)
        trained(optimizer, -log_p[:, 0].mean())

    def by_hand(logits):
        p = torch.softmax(logits, dim=1)
        return torch.log(p)

    nan(lambda: program(by_hand), "torch.log(p)", "log", "p", where=by_hand)
    calm(lambda: program(lambda logits: F.log_softmax(logits, dim=1)))


def test_log_of_a_negative_number():
    """log of a negative prediction is NaN (RMSLE); clamped it is not."""

    def rmsle(pred):
        return (torch.log(pred + 1) - torch.log(Y + 1)).pow(2).mean().sqrt()

    def sound(pred):
        return (torch.log1p(pred.clamp(min=0)) - torch.log1p(Y)).pow(2).mean().sqrt()

    def program(loss):
        net, optimizer = net_of()
        trained(optimizer, loss(net(X) * 5))

    nan(lambda: program(rmsle), "torch.log(pred + 1)", "log", where=rmsle)
    calm(lambda: program(sound))


def test_sqrt_of_zero_in_backward():
    """The loss is finite and every gradient NaN: the derivative of sqrt at 0 is infinite."""

    def program(eps):
        net, optimizer = net_of(3)
        out = net(X)
        spread = (out - out[:1]).pow(2).sum(1)
        distance = torch.sqrt(spread + eps)
        trained(optimizer, distance.mean())

    nan(lambda: program(0.0), "torch.sqrt(spread + eps)", "sqrt", "distance", where=program)
    calm(lambda: program(1e-6))


def test_std_of_one_sample():
    """The standard deviation of a batch of one is NaN."""

    def program(batch):
        net, optimizer = net_of(3)
        out = net(X[:batch])
        normed = (out - out.mean(0)) / out.std(0)
        trained(optimizer, normed.pow(3).mean())

    nan(lambda: program(1), "out.std(0)", "std", where=program)
    calm(lambda: program(8))


def test_division_by_an_empty_mask():
    """A masked mean over no element is 0 / 0."""

    def program(mask):
        net, optimizer = net_of()
        loss = (net(X) - Y).pow(2) * mask
        mean = loss.sum() / mask.sum()
        trained(optimizer, mean)

    nan(lambda: program(torch.zeros(8, 1)), "loss.sum() / mask.sum()", "div", "mean", where=program)
    calm(lambda: program(torch.ones(8, 1)))


def test_mean_of_nothing():
    """Selecting nothing and taking the mean is NaN."""

    def program(threshold):
        net, optimizer = net_of()
        errors = (net(X) - Y).pow(2)
        hard = errors[errors > threshold]
        trained(optimizer, hard.mean())

    nan(lambda: program(1e6), "hard.mean()", "mean", where=program)
    calm(lambda: program(0.0))


def test_attention_row_fully_masked():
    """softmax of a row of -inf is NaN; a row with one entry left is fine, -inf and all."""

    def program(mask):
        net, optimizer = net_of()
        scores = (net(X) * torch.arange(1.0, 4.0)).masked_fill(mask, float("-inf"))
        weights = scores.softmax(dim=1)
        trained(optimizer, weights.pow(2).mean())

    full = torch.zeros(8, 3, dtype=torch.bool)
    full[2] = True
    causal = torch.zeros(8, 3, dtype=torch.bool)
    causal[:, 2] = True
    nan(lambda: program(full), "scores.softmax(dim=1)", "softmax", "weights", where=program)
    calm(lambda: program(causal))


def test_exponential_that_overflows():
    """exp of a large log-variance is Inf, and Inf - Inf is NaN."""

    def program(scale):
        net, optimizer = net_of(2)
        mu, log_var = (net(X) * scale).chunk(2, dim=1)
        kl = 0.5 * (mu.pow(2) + log_var.exp() - 1 - log_var).mean()
        trained(optimizer, kl)

    nan(lambda: program(1000.0), "log_var.exp()", "exp", where=program)
    calm(lambda: program(1.0))


def test_half_precision_overflow():
    """A product of float16 values above 65504 is Inf."""

    def program(dtype):
        net, optimizer = net_of()
        logits = (net(X) * 300).to(dtype)
        energy = logits * logits
        trained(optimizer, energy.float().mean() * 1e-6)

    nan(lambda: program(torch.float16), "energy = logits * logits", "mul", "energy", where=program)
    calm(lambda: program(torch.float32))
