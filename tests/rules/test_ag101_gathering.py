"""AG101: a detached copy at which the gradients of several losses gather, and that hands nothing on."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def trained(after, losses=2):
    """Train an encoder with several heads; `after` is given its output and the copy that the heads were given."""
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        z = encoder(X)
        d = z.detach().requires_grad_()  # Cut.
        for number in range(losses):
            head(d)[:, number].pow(2).mean().backward()
        after(z, d)
        optimizer.step()


def test_a_gradient_that_is_not_handed_on():
    """The fix is the statement that hands it on; of one loss it is to do without the copy."""
    finding = diagnosed(lambda: trained(lambda *_: None), "AG101", "# Cut.", severity="warning", where=trained)
    assert "`z.backward(d.grad)`" in finding.fix
    finding = diagnosed(lambda: trained(lambda *_: None, 1), "AG101", "# Cut.", severity="warning", where=trained)
    assert "backward" not in finding.fix


def test_a_gradient_that_is_handed_on():
    """By backward(), from the tensor that the copy was made of."""
    calm(lambda: trained(lambda z, d: z.backward(d.grad)))
