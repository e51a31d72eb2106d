"""AG305: an optimizer that needs a closure, and is stepped without."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4)


def test_lbfgs_without_a_closure():
    """The step that raised, and the optimizer's name in the fix; with a closure there is nothing to say."""

    def program(*, closed):
        net = nn.Linear(4, 1)
        fitter = torch.optim.LBFGS(net.parameters(), max_iter=2)

        def closure():
            fitter.zero_grad()
            loss = net(X).pow(2).mean()
            loss.backward()
            return loss

        for _ in range(2):
            if closed:
                fitter.step(closure)
            else:
                closure()
                fitter.step()  # Bare.

    finding = diagnosed(lambda: program(closed=False), "AG305", "# Bare.", "closure", severity="error", where=program)
    assert "fitter.step(closure)" in finding.fix
    calm(lambda: program(closed=True))
