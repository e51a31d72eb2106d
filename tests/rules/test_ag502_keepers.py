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


def test_entries_of_a_dictionary_of_losses():
    """The line that puts the entries of a dictionary away, in a loop over it, keeps them."""

    def program(number):
        net, history = nn.Linear(4, 2), {"fit": [], "size": []}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            output = net(X)
            losses = {"fit": F.mse_loss(output, torch.zeros(8, 2)), "size": output.abs().mean()}
            optimizer.zero_grad()
            sum(losses.values()).backward()
            optimizer.step()
            for name, value in losses.items():
                history[name].append(number(value))
        return history

    def sick():
        net, history = nn.Linear(4, 2), {"fit": [], "size": []}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            output = net(X)
            losses = {"fit": F.mse_loss(output, torch.zeros(8, 2)), "size": output.abs().mean()}
            optimizer.zero_grad()
            sum(losses.values()).backward()
            optimizer.step()
            for name, value in losses.items():
                history[name].append(value)  # With its graph.
        return history

    diagnosed(sick, "AG502", "# With its graph.", "losses", severity="warning")
    calm(lambda: program(torch.Tensor.item), lambda: program(torch.Tensor.detach))


def test_list_that_grows_by_concatenation():
    """A new list of the old one and one more keeps what it is made of."""

    class Remembering(nn.Module):
        def __init__(self, plain):
            super().__init__()
            self.linear, self.seen, self.plain = nn.Linear(4, 4), [], plain

        def forward(self, x):
            hidden = self.linear(x)
            if self.plain:
                self.seen = self.seen + [hidden]  # noqa: RUF005 - the way of writing that is under test
            else:
                self.seen = [*self.seen, hidden.detach()]
            return hidden

    def program(*, plain):
        net = Remembering(plain)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            optimizer.step()

    diagnosed(
        lambda: program(plain=True), "AG502", "self.seen = self.seen + [hidden]", "seen", severity="warning",
        where=Remembering,
    )  # fmt: skip
    calm(lambda: program(plain=False))


def test_list_that_is_unpacked_into_its_successor():
    """`[*old, new]` and a conditional part of it are looked into as well."""

    def sick():
        net, rows = nn.Linear(4, 2), {"outputs": []}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(6):
            output = net(X)
            optimizer.zero_grad()
            output.pow(2).mean().backward()
            optimizer.step()
            rows["outputs"] = [*rows["outputs"], output if step > 0 else None]

    def healthy():
        net, rows = nn.Linear(4, 2), {"outputs": []}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(4):
            output = net(X)
            optimizer.zero_grad()
            output.pow(2).mean().backward()
            optimizer.step()
            rows["outputs"] = [*rows["outputs"], output.detach() if step else None]

    diagnosed(sick, "AG502", "output if step > 0", "output", severity="warning")
    calm(healthy)
