"""AG413: steps of an optimizer that change no parameter."""

from __future__ import annotations

import contextlib
import copy

import schedulefree
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LinearLR, SequentialLR, StepLR

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def loss_of(net):
    return net(X).pow(2).mean()


class Plain(Optimizer):
    """Each step is ``update(p, grad, state, lr)`` of every parameter."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, p.grad, self.state[p], group["lr"])


def trains(kind, steps=4):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = kind(net.parameters())
    before = copy.deepcopy(net.state_dict())
    for _ in range(steps):
        trained(optimizer, loss_of(net))
    return any(not torch.equal(before[name], value) for name, value in net.state_dict().items())


def test_a_new_value_for_the_loop_variable():
    """The parameter keeps its own."""

    class Bound(Plain):
        def update(self, p, grad, state, lr):
            momentum = state.setdefault("momentum", torch.zeros_like(p))
            momentum.mul_(0.9).add_(grad)
            p = p * 0.99 - lr * momentum  # to nobody

    diagnosed(lambda: trains(Bound), "AG413", "# to nobody", "0.weight", severity="warning", where=Bound.update)
    assert not trains(Bound)


def test_by_data_and_with_decay_in_the_gradient():
    """Through an alias that is only read; the gradient takes the parameter in, and is used."""

    class Decayed(Plain):
        def update(self, p, grad, state, lr):
            grad = grad.add(p.data, alpha=0.01)
            p = torch.sub(p.data, grad, alpha=lr)  # to nobody

    diagnosed(lambda: trains(Decayed), "AG413", "# to nobody", "1.bias", severity="warning", where=Decayed.update)


def test_in_a_long_run():
    """The steps that were watched are folded away; what they showed is not."""

    class Bound(Plain):
        def update(self, p, grad, state, lr):
            p = p - lr * grad  # to nobody

    diagnosed(lambda: trains(Bound, 50), "AG413", "# to nobody", severity="warning", where=Bound.update)


def test_the_fix_of_a_dropped_value():
    """Both ways to write it into the parameter."""

    class Copied(Plain):
        def update(self, p, grad, state, lr):
            p.copy_(p - lr * grad)

    class InPlace(Plain):
        def update(self, p, grad, state, lr):
            p.sub_(lr * grad)

    calm(lambda: trains(Copied), lambda: trains(InPlace))
    assert trains(Copied)
    assert trains(InPlace)


def test_steps_that_write_past_the_version_counters():
    """Through ``.data``, an alias, a NumPy array, a fused kernel; what cannot be seen is not judged."""

    class ByData(Plain):
        def update(self, p, grad, state, lr):
            p.data.add_(grad, alpha=-lr)

    class AssignedData(Plain):
        def update(self, p, grad, state, lr):
            p.data = p.data - lr * grad

    class CopiedIntoData(Plain):
        def update(self, p, grad, state, lr):
            p.data.copy_(p.data - lr * grad)

    class BySlices(Plain):
        def update(self, p, grad, state, lr):
            p.data[:] = p.data - lr * grad

    class ByOut(Plain):
        def update(self, p, grad, state, lr):
            torch.sub(p.data, grad, alpha=lr, out=p.data)

    class ByNumPy(Plain):
        def update(self, p, grad, state, lr):
            new = p - lr * grad
            p.detach().numpy()[...] = new.numpy()

    class ByViews(Plain):
        def update(self, p, grad, state, lr):
            p.data.view(-1).sub_(lr * grad.view(-1))

    class Together(Plain):
        @torch.no_grad()
        def step(self):
            params = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
            torch._foreach_add_([p.data for p in params], [p.grad for p in params], alpha=-0.1)

    kinds = (ByData, AssignedData, CopiedIntoData, BySlices, ByOut, ByNumPy, ByViews, Together)
    calm(*(lambda kind=kind: trains(kind) for kind in kinds))
    for kind in kinds:
        assert trains(kind)
    calm(lambda: trains(lambda params: torch.optim.Adam(params, fused=True)))


def test_steps_whose_update_is_applied_elsewhere():
    """Kept in the state and applied later, by another method, or every other time."""

    class Later(Plain):
        def update(self, p, grad, state, lr):
            state["new"] = p - lr * grad

    class Proposing(Plain):
        def update(self, p, grad, state, lr):
            p.proposal = p - lr * grad

    class Rarely(Plain):
        def update(self, p, grad, state, lr):
            total = state.setdefault("total", torch.zeros_like(p))
            total.add_(grad + 0.01 * p)

    def applied(kind, steps=3):
        net = nn.Linear(4, 2)
        optimizer = kind(net.parameters())
        for _ in range(steps):
            trained(optimizer, loss_of(net))
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(optimizer.state[p]["new"] if kind is Later else p.proposal if kind is Proposing else p)

    def by_hand_beside_it():
        class Logged(Plain):
            def update(self, p, grad, state, lr):
                self.expected = p - lr * grad

        net = nn.Linear(4, 2)
        optimizer = Logged(net.parameters())
        for _ in range(3):
            trained(optimizer, loss_of(net))
            with torch.no_grad():
                for p in net.parameters():
                    p.sub_(0.1 * p.grad)

    calm(lambda: applied(Later), lambda: applied(Proposing), lambda: applied(Rarely), by_hand_beside_it)


def test_optimizers_around_others_and_skipped_steps():
    """Lookahead, SAM, schedule-free, a scaler that skips, a closure."""

    class Lookahead(Optimizer):
        def __init__(self, base):
            self.base = base
            super().__init__(base.param_groups, {})
            self.slow = {p: p.detach().clone() for group in self.param_groups for p in group["params"]}

        @torch.no_grad()
        def step(self):
            self.base.step()
            for p, slow in self.slow.items():
                slow.lerp_(p, 0.5)

    class Sharp(Plain):
        @torch.no_grad()
        def ascend(self):
            for p in self.param_groups[0]["params"]:
                self.state[p]["old"] = p.detach().clone()
                p.add_(p.grad, alpha=0.01)

        def update(self, p, grad, state, lr):
            p.copy_(state["old"] - lr * grad)

    def around():
        trains(lambda params: Lookahead(torch.optim.SGD(params, lr=0.1)))

    def sharpness_aware():
        net = nn.Linear(4, 2)
        optimizer = Sharp(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.ascend()
            trained(optimizer, loss_of(net))

    def free():
        net = nn.Linear(4, 2)
        optimizer = schedulefree.AdamWScheduleFree(net.parameters(), warmup_steps=10)
        optimizer.train()
        for _ in range(3):
            trained(optimizer, loss_of(net))

    def skipped():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
        for step in range(3):
            optimizer.zero_grad()
            scaler.scale(loss_of(net) * (float("inf") if step == 0 else 1)).backward()
            scaler.step(optimizer)
            scaler.update()

    def with_a_closure():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2)

        def closure():
            optimizer.zero_grad()
            loss = loss_of(net)
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)

    calm(around, sharpness_aware, free, with_a_closure)
    assert "AG413" not in [finding.rule for finding in alarms(inspected(skipped))]


def scheduled(make, *, steps=4, each=True, optimizers=torch.optim.SGD):
    net = nn.Linear(4, 2)
    optimizer = optimizers(net.parameters(), lr=0.1)
    scheduler = make(optimizer)
    for _ in range(steps):
        trained(optimizer, loss_of(net))
        if each:
            scheduler.step()
    if not each:
        scheduler.step()


def divided(step):
    if step < 10:
        return (step + 1) // 10  # rounds down
    return 1.0


def divided_in_blocks(step):
    with contextlib.nullcontext(), contextlib.suppress(TypeError):
        return min(1, step // 10)  # rounds down
    return 1.0


def test_a_factor_that_is_0_throughout_the_warm_up():
    """The lines that return it come first, out of blocks too."""
    for steps in (3, 50):
        report = inspected(lambda steps=steps: scheduled(lambda o: LambdaLR(o, lambda s: 0), steps=steps))
        assert [(f.rule, f.severity) for f in alarms(report)] == [("AG413", "warning")], summary(report)
    for factor in (divided, divided_in_blocks):
        diagnosed(
            lambda factor=factor: scheduled(lambda o: LambdaLR(o, factor)), "AG413", "# rounds down", "lr", "//",
            severity="warning", where=factor,
        )  # fmt: skip


def test_a_schedule_in_steps_that_is_stepped_once_an_epoch():
    """It stays at the 0 with which it begins."""

    def sick():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.AdamW(net.parameters())
        scheduler = LambdaLR(optimizer, lambda step: min(step / 2, 1.0))
        for _ in range(4):
            loss = loss_of(net)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()  # once

    finding = diagnosed(sick, "AG413", "optimizer.step()", "lr", "LambdaLR", severity="warning")
    assert any("# once" in location.source for location in finding.locations)


def test_the_fix_of_a_schedule():
    """With the division, or the scheduler in the loop, nothing is left to say."""
    calm(
        lambda: scheduled(lambda o: LambdaLR(o, lambda step: (step + 1) / 10)),
        lambda: scheduled(lambda o: LambdaLR(o, lambda step: min(step / 2, 1.0))),
    )


def test_a_schedule_that_is_over_too_early():
    """It counts micro-batches, and ends half-way: the steps that change nothing, and where the scheduler is stepped."""

    def program(*, each, last=0.0):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scheduler = LinearLR(optimizer, 1.0, last, total_iters=4)
        for batch in range(8):
            loss_of(net).backward()
            if batch % 2:
                optimizer.step()
                optimizer.zero_grad()
            if each or batch % 2:
                scheduler.step()  # Scheduled.

    finding = diagnosed(
        lambda: program(each=True), "AG413", "# Scheduled.", "lr", "LinearLR", severity="warning", where=program
    )
    assert any("optimizer.step()" in location.source for location in finding.locations)
    calm(lambda: program(each=False), lambda: program(each=True, last=0.1))


def test_rates_of_0_that_are_meant():
    """A warm-up's first step, a group that is frozen beside others, an optimizer that was given 0; one step alone."""

    def beside_others():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        groups = [{"params": net[0].parameters()}, {"params": net[1].parameters()}]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        scheduler = LambdaLR(optimizer, [lambda step: 0.0, lambda step: 1.0])
        for _ in range(3):
            trained(optimizer, loss_of(net))
            scheduler.step()

    def given_0():
        trains(lambda params: torch.optim.SGD(params, lr=0.0))

    def by_torch():
        scheduled(lambda o: LinearLR(o, start_factor=0.1, total_iters=3))
        scheduled(lambda o: SequentialLR(o, [LinearLR(o, 0.1), StepLR(o, 2)], milestones=[2]))

    calm(
        lambda: scheduled(lambda o: LambdaLR(o, lambda step: step / 10)),
        lambda: scheduled(lambda o: LambdaLR(o, lambda step: step / 10), steps=1),
        lambda: scheduled(lambda o: LambdaLR(o, lambda step: step / 10), steps=14),
        beside_others,
        given_0,
        by_torch,
    )


def test_one_of_two_optimizers_waits():
    """It may be meant to, as long as the other one moves something: an information."""

    def program():
        first, second = nn.Linear(4, 4), nn.Linear(4, 2)
        moving = torch.optim.SGD(first.parameters(), lr=0.1)
        waiting = torch.optim.SGD(second.parameters(), lr=0.1)
        scheduler = LambdaLR(waiting, lambda step: float(step > 100))
        for _ in range(3):
            loss = second(first(X)).pow(2).mean()
            for optimizer in (moving, waiting):
                optimizer.zero_grad()
            loss.backward()
            moving.step()
            waiting.step()
            scheduler.step()

    report = inspected(program)
    assert not alarms(report), summary(report)
    assert [f.rule for f in report.findings if f.rule == "AG413"] == ["AG413"]


def test_a_dropped_update_by_way_of_a_decomposition():
    """What a decomposition returns, a tuple of a type of its own, is followed to the new value that nothing keeps."""

    class Orthogonal(Plain):
        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    u, _, v = torch.linalg.svd(p.grad, full_matrices=False)
                    self.write(p, u @ v)

        def write(self, p, update):
            p = p - 0.1 * update  # dropped

    class Written(Orthogonal):
        def write(self, p, update):
            p.sub_(0.1 * update)

    def run(kind):
        net = nn.Linear(4, 4, bias=False)
        optimizer = kind(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()

    diagnosed(lambda: run(Orthogonal), "AG413", "# dropped", "weight", severity="warning", where=Orthogonal.write)
    calm(lambda: run(Written))
