"""AG413: a scheduler goes on with an optimizer after another one has taken its place."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR

from .programs import alarms, diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def rounds(net, optimizer, *schedulers, count=2):
    for _ in range(count):
        trained(optimizer, F.cross_entropy(net(X), Y))
        for scheduler in schedulers:
            scheduler.step()


def test_optimizer_made_again_for_the_second_phase():
    """The new optimizer's lr stays what it is; with a scheduler of its own there is nothing to tell."""

    def program(*, again):
        net = network()
        optimizer = torch.optim.Adam(net[2].parameters(), lr=0.1)
        decay = ExponentialLR(optimizer, 0.5)
        rounds(net, optimizer, decay)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)  # second
        if again:
            decay = ExponentialLR(optimizer, 0.5)
        rounds(net, optimizer, decay)

    finding = diagnosed(
        lambda: program(again=False), "AG413", "# second", "ExponentialLR", "AdamW", "lr", severity="warning",
        where=program,
    )  # fmt: skip
    assert "`ExponentialLR(optimizer, ...)`" in finding.fix
    calm(lambda: program(again=True))


def test_optimizer_replaced_before_training():
    """A helper makes the optimizer that trains; the scheduler has the one that never steps, in a long run as well."""

    def fit(net, *, scheduler, optimizer=None, count=2):
        optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=0.1)  # trains
        rounds(net, optimizer, scheduler, count=count)

    def program(*, given, count=2):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        warmup = LambdaLR(optimizer, lambda step: (step + 1) / 10)
        fit(net, scheduler=warmup, optimizer=optimizer if given else None, count=count)

    for count in (2, 40):
        diagnosed(
            lambda count=count: program(given=False, count=count), "AG413", "# trains", "LambdaLR",
            severity="warning", where=fit,
        )  # fmt: skip
    calm(lambda: program(given=True))


class Wrapper(torch.optim.Optimizer):
    """Steps another optimizer, whose groups are its own."""

    def __init__(self, params, **settings):
        super().__init__(params, settings)
        self.base = torch.optim.SGD(self.param_groups, **settings)
        self.param_groups = self.base.param_groups

    def apply(self):
        self.base.step()

    def step(self, closure=None):
        self.base.step()


def test_optimizers_that_take_turns():
    """One wraps the other, both go on, the second has no parameter of the first, or no scheduler steps any more."""

    def wrapped():
        net = network()
        optimizer = Wrapper(net.parameters(), lr=0.1)
        decay = ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(net(X), Y).backward()
            optimizer.apply()
            decay.step()

    def alternating():
        net = network()
        first = torch.optim.SGD(net.parameters(), lr=0.1)
        decay = ExponentialLR(first, 0.5)
        second = torch.optim.SGD(net[2].parameters(), lr=0.1)
        for _ in range(2):
            rounds(net, first, decay, count=1)
            rounds(net, second, decay, count=1)
        rounds(net, first, decay, count=1)

    def separate():
        net = network()
        body, head = (torch.optim.SGD(part.parameters(), lr=0.1) for part in (net[0], net[2]))
        decay = ExponentialLR(body, 0.5)
        rounds(net, body, decay)
        rounds(net, head, decay)

    def finished():
        net = network()
        first = torch.optim.SGD(net[2].parameters(), lr=0.1)
        rounds(net, first, ExponentialLR(first, 0.5))
        rounds(net, torch.optim.SGD(net.parameters(), lr=0.1))

    calm(wrapped, alternating, separate, finished)


class Lookahead(torch.optim.Optimizer):
    """Wraps an optimizer that steps, and has its groups, or copies of them."""

    def __init__(self, inner, *, shares, hands_on=False):
        self.inner, self.hands_on = inner, hands_on
        if shares:
            self.param_groups = inner.param_groups
        else:
            self.param_groups = [dict(group) for group in inner.param_groups]  # copied
        self.defaults, self.state = dict(inner.defaults), {}

    def step(self, closure=None):
        for own, group in zip(self.param_groups, self.inner.param_groups, strict=True):
            group["lr"] = own["lr"] if self.hands_on else group["lr"]
        return self.inner.step(closure)

    def zero_grad(self, set_to_none=True):
        self.inner.zero_grad(set_to_none)


def test_a_wrapper_with_copies_of_the_groups():
    """The schedule changes the copies, and the steps keep their lr: not where they share them, or it is handed on."""

    def program(**options):
        net = network()
        optimizer = Lookahead(torch.optim.SGD(net.parameters(), lr=0.1), **options)
        rounds(net, optimizer, ExponentialLR(optimizer, 0.5), count=4)

    finding = diagnosed(
        lambda: program(shares=False), "AG413", "# copied", "Lookahead", "SGD", "lr", severity="warning",
        where=Lookahead.__init__,
    )  # fmt: skip
    assert "which are copies" in finding.message
    calm(lambda: program(shares=True), lambda: program(shares=False, hands_on=True))


def test_a_wrapper_whose_schedule_is_constant():
    """Nothing is lost by a scheduler that leaves the lr as it is."""

    def program():
        net = network()
        optimizer = Lookahead(torch.optim.SGD(net.parameters(), lr=0.1), shares=False)
        rounds(net, optimizer, LambdaLR(optimizer, lambda step: 1.0), count=4)

    calm(program)


class Slow(torch.optim.Optimizer):
    """Wraps an optimizer that its own step, which torch's hooks see, calls."""

    def __init__(self, inner, *, shares, hands_on=False):
        super().__init__(inner.param_groups, {"alpha": 0.5})
        self.inner, self.hands_on = inner, hands_on
        if not shares:
            self.param_groups = [dict(group) for group in inner.param_groups]  # copied

    def step(self, closure=None):
        if self.hands_on:
            self.inner.param_groups[0]["lr"] = self.param_groups[0]["lr"]
        return self.inner.step(closure)


def decay_by_hand(optimizer):
    for group in optimizer.param_groups:
        group["lr"] *= 0.5


def test_a_wrapper_whose_own_step_is_seen():
    """Its lr changes, by a scheduler or by hand, and the step within its own has the same lr each time."""

    def program(*, by_hand, count=4, **options):
        net = network()
        optimizer = Slow(torch.optim.SGD(net.parameters(), lr=0.1), **options)
        decay = None if by_hand else ExponentialLR(optimizer, 0.5)
        for _ in range(count):
            trained(optimizer, F.cross_entropy(net(X), Y))
            decay_by_hand(optimizer) if decay is None else decay.step()

    def constant():
        net = network()
        optimizer = Slow(torch.optim.SGD(net.parameters(), lr=0.1), shares=False)
        for group in optimizer.param_groups:
            group["lr"] = 1.0
        rounds(net, optimizer, count=4)

    for by_hand in (False, True):
        finding = diagnosed(
            lambda by_hand=by_hand: program(by_hand=by_hand, shares=False), "AG413", "# copied", "Slow", "SGD",
            "they are copies", severity="warning", where=Slow.__init__,
        )  # fmt: skip
        assert "self.inner.step(closure)" in "".join(place.source for place in finding.locations)
        calm(
            lambda by_hand=by_hand: program(by_hand=by_hand, shares=True),
            lambda by_hand=by_hand: program(by_hand=by_hand, shares=False, hands_on=True),
        )
        assert not alarms(inspected(lambda by_hand=by_hand: program(by_hand=by_hand, shares=True, count=40)))
    diagnosed(
        lambda: program(by_hand=True, shares=False, count=40), "AG413", "# copied", severity="warning",
        where=Slow.__init__,
    )  # fmt: skip
    calm(constant)


class Outer(torch.optim.Optimizer):
    """Adds the moves of another optimizer, which has options of its own, at its own rate."""

    def __init__(self, params, inner):
        super().__init__(params, {"lr": 1.0})
        self.inner = inner

    def step(self, closure=None):
        before = [p.detach().clone() for p in self.param_groups[0]["params"]]
        self.inner.step()
        with torch.no_grad():
            for p, old in zip(self.param_groups[0]["params"], before, strict=True):
                p.copy_(old + self.param_groups[0]["lr"] * (p - old))


def test_a_wrapper_with_a_rate_of_its_own():
    """Its groups have not the options of the inner optimizer: they are no copies."""

    def program():
        net = network()
        optimizer = Outer(net.parameters(), torch.optim.SGD(net.parameters(), lr=0.1))
        rounds(net, optimizer, ExponentialLR(optimizer, 0.5), count=4)

    calm(program)
