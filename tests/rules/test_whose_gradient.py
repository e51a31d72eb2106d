"""AG101, AG106, AG108, AG305, AG306: whose step a gradient is for, which way is missing, and what comes first."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, silent, summary, trained
from .twins import calm

X = torch.rand(6, 8, generator=torch.Generator().manual_seed(7))


def test_a_layer_that_only_anothers_loss_reaches():
    """The actor's loss gives a layer of the critic gradients that are cleared again: the critic's own is cut off."""

    class Critic(nn.Module):
        def __init__(self, stop):
            super().__init__()
            self.first, self.last, self.stop = nn.Linear(8, 5), nn.Linear(5, 1), stop

        def forward(self, x):
            return self.last(self.stop(self.first(x)).relu())

    def stopped(h):
        return h.detach()

    def program(stop):
        actor, critic = nn.Linear(8, 8), Critic(stop)
        acting, judging = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
        for _ in range(2):
            trained(judging, F.mse_loss(critic(X), X.sum(dim=1, keepdim=True)))
            trained(acting, -critic.last(critic.first(actor(X)).relu()).mean())

    found = diagnosed(
        lambda: program(stopped), "AG101", "h.detach()", "first.weight", severity="warning", where=stopped
    )
    assert "last.weight" not in found.subjects
    silent(lambda: program(lambda h: h))


def test_a_function_that_returns_none_for_one_of_two_ways():
    """What lies behind learns by the other way: a hint that begins where backward returns."""

    class Passing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad, None  # none for y

    def program():
        encoder = nn.Linear(8, 4)
        optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        for _ in range(2):
            h = encoder(X)
            trained(optimizer, Passing.apply(h, h.tanh()).pow(2).mean())

    report = inspected(program)
    assert [(f.rule, f.severity) for f in report.findings] == [("AG108", "info")], summary(report)
    assert report.findings[0].locations[0].lineno == line_of(Passing, "# none for y")


def test_a_module_hook_that_stops_one_of_two_ways():
    """The hook's line is named, not torch's own Function under it."""

    def program():
        body, left, right = nn.Linear(8, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        left.register_full_backward_hook(lambda module, given, got: (given[0] * 0,))
        optimizer = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
        for _ in range(2):
            h = body(X)
            trained(optimizer, (left(h).pow(2) + right(h).pow(2)).mean())

    report = inspected(program, values=True)
    assert [(f.rule, f.severity) for f in report.findings] == [("AG306", "info")], summary(report)
    assert report.findings[0].locations[0].lineno == line_of(program, "register_full_backward_hook")


def test_hints_of_what_never_moves_come_first():
    """A gradient that is dropped at every step comes before a stop-gradient on one of several ways."""

    def program():
        net, head = nn.Linear(8, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            h = net(X)
            loss = head(h.sin() * h.norm().detach()).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            head.bias.grad = None
            optimizer.step()

    report = inspected(program)
    assert [f.rule for f in report.findings] == ["AG306", "AG101"], summary(report)


class Descent(torch.optim.Optimizer):
    """An optimizer of the program's own that expects a gradient of every parameter."""

    def __init__(self, parameters):
        super().__init__(parameters, {"rate": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.add_(parameter.grad.neg(), alpha=group["rate"])


def test_the_programs_own_step_falls_over_none():
    """It raises inside of step(): what is told is why there is no gradient, and both lines."""

    def early():
        net = nn.Linear(8, 1)
        optimizer = Descent(net.parameters())
        loss = net(X).pow(2).mean()
        optimizer.step()
        loss.backward()

    def healthy():
        net = nn.Linear(8, 1)
        optimizer = Descent(net.parameters())
        net(X).pow(2).mean().backward()
        optimizer.step()

    report = inspected(early)
    assert [(f.rule, f.severity) for f in alarms(report)] == [("AG305", "error")], summary(report)
    lines = {place.lineno for place in report.findings[0].locations}
    assert {line_of(early, "optimizer.step()"), line_of(Descent.step, "parameter.grad.neg()")} <= lines
    silent(healthy)


def test_one_loss_scaled_and_differentiated_twice():
    """Each scale() makes a loss of its own; the gradients are the same, and are added."""

    def program(again):
        net = nn.Linear(8, 1)
        optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=8.0)
        for _ in range(2):
            optimizer.zero_grad()
            loss = net(X).pow(2).mean()
            if again:
                scaler.scale(loss).backward(retain_graph=True)
            scaler.scale(loss).backward()  # the last
            scaler.step(optimizer)
            scaler.update()

    diagnosed(lambda: program(again=True), "AG305", "# the last", "weight", severity="warning", where=program)
    calm(lambda: program(again=False))


def test_twice_through_one_graph_with_other_gradients():
    """Two products of a Jacobian are two gradients: what was given to backward() tells them apart."""

    def rows(given):
        net = nn.Linear(8, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        first, second = torch.tensor([1.0, 0.0]).expand(6, 2), torch.tensor([0.0, 1.0]).expand(6, 2)
        for _ in range(2):
            optimizer.zero_grad()
            out = net(X)
            out.backward(first, retain_graph=True)
            out.backward(given(first, second))  # again
            optimizer.step()

    calm(lambda: rows(lambda first, second: second))
    diagnosed(lambda: rows(lambda first, second: first), "AG305", "# again", severity="warning", where=rows)


def test_what_dropped_a_gradient_is_not_the_zero_grad_before_backward():
    """Both come at the same moment as far as ops are counted; the one behind backward() is to blame."""

    def program():
        image = X.clone().requires_grad_()
        optimizer = torch.optim.SGD([image], lr=0.1)
        for _ in range(2):
            loss = image.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            image.grad = None  # dropped
            optimizer.step()

    diagnosed(program, "AG305", "# dropped", "image", severity="warning")


def test_a_frozen_generator_beside_a_critic():
    """A backward of its own reaches nothing of what its optimizer holds; after a common backward it may be a stage."""

    def adversarial(freeze):
        generator, critic = nn.Linear(8, 8), nn.Linear(8, 1)
        if freeze:
            generator.requires_grad_(False)  # frozen
        generating, judging = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
        for _ in range(2):
            trained(judging, critic(X).mean() - critic(generator(X).detach()).mean())
            trained(generating, -critic(generator(X)).mean())

    diagnosed(lambda: adversarial(True), "AG106", "# frozen", "generator.weight", severity="warning", where=adversarial)
    silent(lambda: adversarial(False))


def test_a_layer_that_the_model_no_longer_has():
    """What was replaced is cut off by nothing, though a target network was made of its values."""

    def program(replaced):
        net = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1))
        target = copy.deepcopy(net).requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        if replaced:
            net[0] = copy.deepcopy(net[0])  # replaced
        for _ in range(2):
            with torch.no_grad():
                wanted = target(X)
            trained(optimizer, F.mse_loss(net(X), 0.9 * wanted + 0.1))
            for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                slow.data.copy_(0.9 * slow.data + 0.1 * fast.data)

    found = diagnosed(lambda: program(True), "AG405", "# replaced", "weight", severity="warning", where=program)
    assert found.locations
    silent(lambda: program(False))


def test_an_infinity_that_became_an_index():
    """It is finite as a whole number: what made the loss NaN is told, not the bucket that a position falls into."""
    report = inspected(broken, values=True)
    assert report.findings[0].locations[0].lineno == line_of(broken, "torch.log(h * 0)"), summary(report)


def broken():
    table, head = nn.Embedding(8, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
    distance = torch.arange(4)
    bucket = torch.log(distance.float()).clamp(min=0, max=7).long()
    h = head(table(torch.where(distance < 2, distance, bucket)))
    trained(optimizer, torch.log(h * 0).mean())
