"""AG408 and AG410: steps that use `.grad` as scratch memory, and schedule-free optimizers in the wrong mode."""

from __future__ import annotations

import copy

import schedulefree
import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def free(kind=schedulefree.AdamWScheduleFree, **settings):
    net = nn.Linear(4, 2)
    return net, kind(net.parameters(), lr=0.01, **settings)


def loss_of(net):
    return net(X).pow(2).mean()


def test_norm_read_after_the_step():
    """AdamWScheduleFree leaves no gradient in .grad: norms belong before step()."""

    def sick():
        net, optimizer = free()
        optimizer.train()
        for _ in range(2):
            loss_of(net).backward()
            optimizer.step()
            total = sum(p.grad.norm() ** 2 for p in net.parameters()) ** 0.5
        return total

    def clipped():
        net, optimizer = free()
        optimizer.train()
        for _ in range(2):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()
            norm = nn.utils.clip_grad_norm_(net.parameters(), float("inf"))
        return norm

    def healthy():
        net, optimizer = free()
        optimizer.train()
        norms = []
        for _ in range(2):
            optimizer.zero_grad()
            loss_of(net).backward()
            norms.append(nn.utils.clip_grad_norm_(net.parameters(), 1e9))
            optimizer.step()

    def plain_adam():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            trained(optimizer, loss_of(net))
            net.weight.grad.norm()

    finding = diagnosed(sick, "AG408", "optimizer.step()", "weight", severity="warning", besides=("AG305",))
    assert any("p.grad.norm()" in place.source for place in finding.locations)
    diagnosed(clipped, "AG408", "optimizer.step()", "weight", severity="warning")
    calm(healthy, plain_adam)


def test_foreach_nesterov():
    """foreach SGD with Nesterov momentum adds the momentum into .grad."""

    def program(**settings):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, **settings)
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()
            histogram = net.weight.grad.abs().mean()
        return histogram

    diagnosed(
        lambda: program(nesterov=True, foreach=True), "AG408", "optimizer.step()", "weight", severity="warning",
        where=program,
    )  # fmt: skip
    calm(lambda: program(nesterov=True, foreach=False))


def test_step_before_train():
    """Without optimizer.train() the first step raises; after eval() the next one does."""

    def never():
        net = nn.Linear(4, 2)
        optimizer = schedulefree.AdamWScheduleFree(net.parameters())
        trained(optimizer, loss_of(net))

    def after_validation():
        net, optimizer = free()
        optimizer.train()
        for _ in range(2):
            net.train()
            trained(optimizer, loss_of(net))
            net.eval()
            optimizer.eval()
            with torch.no_grad():
                loss_of(net)

    def healthy():
        net, optimizer = free()
        for _ in range(2):
            net.train()
            optimizer.train()
            trained(optimizer, loss_of(net))
            net.eval()
            optimizer.eval()
            with torch.no_grad():
                loss_of(net)

    diagnosed(never, "AG410", "optimizer = schedulefree", "train()", severity="error")
    finding = diagnosed(after_validation, "AG410", "optimizer.eval()", "train()", severity="error")
    lines = {place.lineno: place.role for place in finding.locations}
    assert "model alone" in lines[line_of(after_validation, "net.train()")]
    calm(healthy)


def test_load_after_train():
    """load_state_dict brings the mode that the checkpoint was saved in: train() has to come after it."""

    def program(*, late):
        net, optimizer = free(schedulefree.RAdamScheduleFree)
        optimizer.train()
        trained(optimizer, loss_of(net))
        optimizer.eval()
        checkpoint = copy.deepcopy(optimizer.state_dict())
        resumed = schedulefree.RAdamScheduleFree(net.parameters(), lr=0.01)
        if not late:
            resumed.train()
        resumed.load_state_dict(checkpoint)
        if late:
            resumed.train()
        trained(resumed, loss_of(net))

    def validated_later():
        net, optimizer = free()
        optimizer.train()
        trained(optimizer, loss_of(net))
        optimizer.eval()
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        optimizer.train()
        trained(optimizer, loss_of(net))
        optimizer.eval()  # without a word
        trained(optimizer, loss_of(net))

    finding = diagnosed(
        lambda: program(late=False), "AG410", "resumed.load_state_dict", "train_mode", severity="error", where=program
    )
    assert "never called" not in finding.message
    later = diagnosed(validated_later, "AG410", "optimizer.eval()  # without a word", "train()", severity="error")
    assert "was not called after" in later.message
    calm(lambda: program(late=True))


def test_validation_in_train_mode():
    """Evaluating without optimizer.eval() looks at weights that were not meant for it."""

    def sick():
        net, optimizer = free()
        optimizer.train()
        for _ in range(2):
            net.train()
            trained(optimizer, loss_of(net))
            net.eval()
            with torch.no_grad():
                score = net(X).mean()
        return score

    def quick_look():
        net, optimizer = free()
        optimizer.train()
        for _ in range(2):
            trained(optimizer, loss_of(net))
            with torch.no_grad():
                net.weight.norm()

    found = diagnosed(sick, "AG410", "net.eval()", "eval()", severity="warning")
    assert line_of(sick, "score = net(X).mean()") in [place.lineno for place in found.locations]
    calm(quick_look)


def test_saving_in_train_mode():
    """A checkpoint in train mode holds the wrong weights."""

    def program(*, switch):
        net, optimizer = free(schedulefree.SGDScheduleFree)
        optimizer.train()
        for _ in range(2):
            trained(optimizer, loss_of(net))
        if switch:
            optimizer.eval()
        return copy.deepcopy(net.state_dict())

    diagnosed(lambda: program(switch=False), "AG410", "net.state_dict()", "eval()", severity="warning", where=program)
    calm(lambda: program(switch=True))


def looked_at(kind, *, switch, rounds=2):
    """A model is evaluated and saved, in the mode that its optimizer asks for, or in the other one."""
    net = nn.Linear(4, 2)
    optimizer = kind(net.parameters(), lr=0.01)
    for _ in range(rounds):
        net.train()
        optimizer.train()
        trained(optimizer, loss_of(net))
        net.eval()
        if switch:
            optimizer.eval()
        with torch.no_grad():
            net(X)
    net.state_dict()


def test_mode_however_the_weights_are_exchanged():
    """What the groups hold tells the mode: the reference copies weights where others interpolate them."""
    for kind in (schedulefree.AdamWScheduleFreeReference, schedulefree.SGDScheduleFreeReference, Averaging):
        calm(lambda kind=kind: looked_at(kind, switch=True))
        report = inspected(lambda kind=kind: looked_at(kind, switch=False))
        assert [f.rule for f in alarms(report)] == ["AG410", "AG410"], summary(report)
        # Of a long run the last look before the steps that are kept tells.
        assert not alarms(inspected(lambda kind=kind: looked_at(kind, switch=True, rounds=40)))


def test_optimizers_without_a_mode():
    """With a closure there is nothing to switch: neither method exists, and nothing is said."""

    def program(kind):
        net = nn.Linear(4, 2)
        optimizer = kind(net.parameters(), lr=0.01)

        def closure():
            optimizer.zero_grad()
            loss = loss_of(net)
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        net.eval()
        with torch.no_grad():
            net(X)
        net.state_dict()

    calm(lambda: program(schedulefree.AdamWScheduleFreeClosure), lambda: program(schedulefree.SGDScheduleFreeClosure))


class Averaging(torch.optim.Optimizer):
    """The program's own: plain steps at one set of weights, their mean beside them."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr, "train_mode": False})

    def train(self):
        self._exchange(training=True)

    def eval(self):
        self._exchange(training=False)

    @torch.no_grad()
    def _exchange(self, *, training):
        for group in self.param_groups:
            if group["train_mode"] is not training:
                for p in group["params"]:
                    other = self.state[p].setdefault("other", p.detach().clone())
                    kept = p.detach().clone()
                    p.copy_(other)
                    other.copy_(kept)
            group["train_mode"] = training

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad, alpha=group["lr"])
                self.state[p]["other"].lerp_(p, 0.1)
