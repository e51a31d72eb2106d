"""AG401 and AG402: state that a hand-written optimizer, or the program around an optimizer, puts where it is."""

from __future__ import annotations

import io

import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

BEHIND = "but not the state"


class Lion(torch.optim.Optimizer):
    def __init__(self, params, like=False):
        super().__init__(params, {"lr": 0.1})
        self.like = like

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p) if self.like else torch.zeros(p.shape)
                p.sub_(group["lr"] * state["mean"].mul_(0.9).add_(p.grad))


def on_meta(**settings):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).to("meta")
    optimizer = Lion(net.parameters(), **settings)
    for _ in range(2):
        trained(optimizer, net(torch.ones(3, 4, device="meta")).sum())


def test_state_on_the_default_device():
    """The line of the class that makes the state is to blame, not the conversion before there was an optimizer."""
    finding = diagnosed(
        on_meta, "AG401", 'state["mean"] = torch.zeros_like(p)', "mean", "0.weight", "cpu", "meta",
        severity="error", where=Lion.step,
    )  # fmt: skip
    assert BEHIND not in finding.message
    assert "torch.zeros_like(p)" in finding.fix
    calm(lambda: on_meta(like=True))


def test_state_made_in_the_constructor():
    """The same where the state is made before the first step."""

    class Heavy(Lion):
        def __init__(self, params):
            super().__init__(params)
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p] = {"mean": torch.zeros(p.shape)}

    def program():
        net = nn.Linear(4, 2).to("meta")
        optimizer = Heavy(net.parameters())
        trained(optimizer, net(torch.ones(3, 4, device="meta")).sum())

    diagnosed(program, "AG401", 'self.state[p] = {"mean": torch.zeros(p.shape)}', "mean", severity="error", where=Heavy)


def test_parameters_converted_after_the_state_was_made():
    """A conversion that comes after the first step does leave the state behind."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = Lion(net.parameters())
        trained(optimizer, net(torch.ones(3, 4)).sum())
        for p in net.parameters():
            p.grad = None
        torch.utils.swap_tensors(net.weight, nn.Parameter(net.weight.detach().to("meta")))
        torch.utils.swap_tensors(net.bias, nn.Parameter(net.bias.detach().to("meta")))
        net.to("meta")
        trained(optimizer, net(torch.ones(3, 4, device="meta")).sum())

    (finding,) = [f for f in alarms(inspected(program)) if f.rule == "AG401"]
    assert BEHIND in finding.message


def restored(state, optimizer, net, cast):
    for p, saved in zip(net.parameters(), state, strict=True):
        torch.zeros(1)
        optimizer.state[p].update({k: v.float() for k, v in saved.items()} if cast else saved)


def resumed(*, cast):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False)
    trained(optimizer, net(torch.ones(3, 4)).sum())
    file = io.BytesIO()
    torch.save([{k: v.half() for k, v in optimizer.state[p].items()} for p in net.parameters()], file)
    file.seek(0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False)
    restored(torch.load(file), optimizer, net, cast)
    trained(optimizer, net(torch.ones(3, 4)).sum())


def test_state_assigned_by_the_program():
    """The line that makes a tensor part of the state comes first; that which loaded the tensor did no harm yet."""
    finding = diagnosed(
        lambda: resumed(cast=False), "AG402", "optimizer.state[p].update(", "momentum_buffer", "float16",
        severity="warning", where=restored,
    )  # fmt: skip
    assert finding.locations[0].role == "state is assigned here"
    roles = {place.source: place.role for place in finding.locations}
    assert roles["restored(torch.load(file), optimizer, net, cast)"] == "its values were created here"
    calm(lambda: resumed(cast=True))


def test_state_of_something_else():
    """What else has a `state` is no place where an optimizer's state is assigned."""

    class Environment:
        def __init__(self):
            self.state = {}

    def program():
        env = Environment()
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        trained(optimizer, net(torch.ones(3, 4)).sum())
        env.state["momentum_buffer"] = torch.ones(2)
        net.double()
        trained(optimizer, net(torch.ones(3, 4).double()).sum())

    report = inspected(program)
    (finding,) = alarms(report)
    assert finding.rule == "AG402", summary(report)
    assert not any("env.state" in place.source for place in finding.locations)


def test_state_made_by_an_inner_function():
    """The line of a function that a method defines is the class's, too."""

    class Inner(Lion):
        @torch.no_grad()
        def step(self):
            def one(p, lr):
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros(p.shape)
                p.sub_(lr * state["mean"].mul_(0.9).add_(p.grad))

            for group in self.param_groups:
                for p in group["params"]:
                    one(p, group["lr"])

    def program():
        net = nn.Linear(4, 2).to("meta")
        trained(Inner(net.parameters()), net(torch.ones(3, 4, device="meta")).sum())

    diagnosed(program, "AG401", 'state["mean"] = torch.zeros(p.shape)', "mean", severity="error", where=Inner.step)
