"""AG304: the advice fits the op that made the first NaN."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
KEEP = torch.tensor([[True, True, False], [False, False, False]])


def one_step(loss_of):
    net = nn.Linear(4, 4)
    trained(torch.optim.SGD(net.parameters(), lr=0.1), loss_of(net))


def test_std_of_one_row():
    """The std of a batch of one is 0 / 0 in any dtype: more rows or another estimator help."""

    def normalised(net):
        h = net(X[0, :1])
        return ((h - h.mean(0)) / h.std(0)).sum()

    def sound(net):
        h = net(X[0])
        return ((h - h.mean(0)) / (h.var(0, correction=0) + 1e-5).sqrt()).pow(3).sum()

    finding = diagnosed(
        lambda: one_step(normalised), "AG304", "h.std(0)", "std", severity="error", where=normalised, values=True
    )
    assert "correction=0" in finding.fix
    assert "dtype" not in finding.fix
    calm(lambda: one_step(sound))


def test_row_that_is_masked_throughout():
    """softmax and log_softmax of a row of -inf are NaN: one position has to stay, or the mask to be finite."""

    def attend(net, value, kind):
        scores = net(X) @ X.transpose(1, 2)
        masked = scores.masked_fill(~KEEP[:, None], value)
        weights = getattr(masked, kind)(-1)
        return (weights @ X).mean()

    for kind in ("softmax", "log_softmax"):
        finding = diagnosed(
            lambda kind=kind: one_step(lambda net: attend(net, float("-inf"), kind)), "AG304", "weights = ", kind,
            severity="error", where=attend, values=True,
        )  # fmt: skip
        assert "unmasked" in finding.fix
    calm(lambda: one_step(lambda net: attend(net, torch.finfo(torch.float32).min, "softmax")))


def test_no_target_left():
    """The mean over targets that are all ignored is 0 / 0: the target is named, and clamping is no advice."""

    def classified(net, target):
        return F.cross_entropy(net(X).flatten(0, 1), target)

    ignored = torch.full((6,), -100)
    finding = diagnosed(
        lambda: one_step(lambda net: classified(net, ignored)), "AG304", "F.cross_entropy", "every target is -100",
        severity="error", where=classified, values=True,
    )  # fmt: skip
    assert "(labels != -100).any()" in finding.fix
    calm(lambda: one_step(lambda net: classified(net, torch.where(torch.arange(6) > 0, ignored, 1))))


def test_angle_of_a_perfect_match():
    """acos and asin have an infinite derivative at their ends: the argument has to stay strictly inside."""

    def angle(net, bound, kind):
        out = net(X)
        cosine = out - out.detach() + bound
        return getattr(torch, kind)(cosine).mean()

    for kind in ("acos", "asin"):
        finding = diagnosed(
            lambda kind=kind: one_step(lambda net: angle(net, 1.0, kind)), "AG304", "return getattr", kind,
            severity="error", where=angle, values=True,
        )  # fmt: skip
        assert "strictly inside" in finding.fix
    calm(lambda: one_step(lambda net: angle(net, 1 - 1e-6, "acos")))


def test_root_of_a_negative_number():
    """A negative base is clamped; a small number added to it would leave it negative."""

    def toned(net, bound):
        return net(X).clamp(min=bound).pow(1 / 2.2).mean()

    finding = diagnosed(
        lambda: one_step(lambda net: toned(net, -9.0)), "AG304", "pow(1 / 2.2)", "pow",
        severity="error", where=toned, values=True,
    )  # fmt: skip
    assert "clamp(min=eps)" in finding.fix
    assert "+ eps" not in finding.fix
    calm(lambda: one_step(lambda net: toned(net, 1e-3)))


def test_infinity_that_a_division_hides():
    """z / inf is 0 and so is its gradient: the op that overflowed is told, not the one where it shows."""

    def normed(net, dtype):
        z = (300 * net(X) + 3000).to(dtype)
        norm = (z * z).sum(-1, keepdim=True).sqrt()
        return ((z / norm).float() - 1).pow(2).mean()

    finding = diagnosed(
        lambda: one_step(lambda net: normed(net, torch.float16)), "AG304", "norm = (z * z)", "weight", "float16 ends",
        severity="error", where=normed, values=True,
    )  # fmt: skip
    assert "finite again" in finding.message
    calm(lambda: one_step(lambda net: normed(net, torch.float32)))


def test_infinity_on_purpose():
    """An infinity that takes no part in the loss says nothing against parameters that move."""

    def inverse(net):
        distance = net(X).relu()
        weight = torch.where(distance > 0, distance, 1.0)
        nearest = (1 / distance.detach()).isinf().sum()
        return weight.log().mean() + nearest

    calm(lambda: one_step(inverse))
