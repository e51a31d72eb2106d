"""AG304: the advice fits the op that made the first NaN."""

from __future__ import annotations

import torch
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
