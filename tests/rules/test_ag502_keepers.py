"""AG502 where something else than the training loop keeps the results: a logger, a closure, a hook."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X, Y = torch.randn(8, 4), torch.rand(8, 1)


class Logger:
    """Rows of keyword arguments, as experiment trackers take them."""

    def __init__(self):
        self.rows = []

    def log(self, **values):
        self.rows.append(values)


def trained(forward, keep):
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    forward(net)
    for step in range(4):
        loss = F.mse_loss(net(X), Y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep(step, loss)


def test_logger_that_is_given_the_loss():
    """The line inside the logger keeps it, not the one that computed it."""

    def program(number):
        logger = Logger()

        def keep(step, loss):
            loss = number(loss)
            logger.log(step=step, loss=loss)

        trained(lambda net: None, keep)

    diagnosed(
        lambda: program(lambda loss: loss), "AG502", "self.rows.append(values)", "loss", severity="warning",
        where=Logger,
    )  # fmt: skip
    calm(lambda: program(torch.Tensor.item), lambda: program(torch.Tensor.detach))


def test_forward_hook_that_collects_activations():
    """The activation has no variable: it is called by its op, and the hook is shown."""

    def collecting(seen):
        return lambda net: net[1].register_forward_hook(lambda module, args, output: seen.append(output))

    def detached(seen):
        return lambda net: net[1].register_forward_hook(lambda module, args, output: seen.append(output.detach()))

    def program(hook):
        seen = []
        trained(hook(seen), lambda *_: None)

    finding = diagnosed(
        lambda: program(collecting), "AG502", "seen.append(output)", "`relu`", severity="warning", where=collecting
    )
    assert "float32" not in finding.fix
    calm(lambda: program(detached))
