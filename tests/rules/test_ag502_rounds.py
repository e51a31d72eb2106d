"""AG502: what counts as a step, and how what is kept is called and mended."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, finding_text, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def minimised(rounds, keep, *, within=False):
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(net(X), Y)
        loss.backward()
        if within:
            keep(loss)
        return loss

    for _ in range(rounds):
        loss = optimizer.step(closure)
        if not within:
            keep(loss)
    return loss


def test_closure_called_several_times_is_one_step():
    """LBFGS holds the first loss of a step, a variable the one that the step before returned: that is no leak."""
    calm(*(lambda rounds=rounds: minimised(rounds, lambda loss: None) for rounds in (2, 4)))


def test_losses_of_closures_that_are_kept():
    """A list of what LBFGS returns, or of what its closure computes, keeps one graph a step at least."""
    for within in (False, True):
        kept = []
        found = alarms(inspected(lambda kept=kept, within=within: minimised(4, kept.append, within=within)))
        assert [finding.rule for finding in found] == ["AG502"]
        calm(lambda within=within: minimised(4, lambda loss: [].append(loss.item()), within=within))


class Monitored(nn.Module):
    """Keeps a running mean of its activations, and has a loss of its own to give."""

    def __init__(self, cut):
        super().__init__()
        self.linear, self.cut = nn.Linear(4, 4), cut
        self.register_buffer("running", torch.zeros(4))

    def forward(self, x):
        h = self.linear(x)
        self.running = 0.9 * self.running + 0.1 * self.cut(h).mean(0)
        return h


def monitored(cut):
    net = nn.Sequential(Monitored(cut), Monitored(cut), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        trained(optimizer, net(X).pow(2).mean())


def test_running_mean_of_two_layers():
    """Each layer has a chain of its own, as long as there were steps; a vector is no number."""
    finding = diagnosed(
        lambda: monitored(lambda h: h), "AG502", "self.running = 0.9", "self.running of '0', '1'", "4 steps",
        severity="warning", where=Monitored.forward,
    )  # fmt: skip
    assert "item()" not in finding.fix
    assert "detach()" in finding.fix
    calm(lambda: monitored(torch.Tensor.detach))


def test_predictions_that_are_kept():
    """A matrix without a name is called by its op, and its copy has no `.item()`."""

    def program(cut):
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        collected = []
        for _ in range(5):
            logits = net(X)
            trained(optimizer, logits.pow(2).mean())
            collected.append(cut(logits.softmax(-1)))
        return torch.cat(collected)

    finding = diagnosed(lambda: program(lambda t: t), "AG502", "collected.append", "softmax", "or more steps",
                        severity="warning", where=program)  # fmt: skip
    assert int(finding.message.partition(" or more steps")[0].rpartition(" ")[2]) in {4, 5}, finding.message
    assert "item()" not in finding.fix
    assert "float32[" not in finding_text(finding)
    calm(lambda: program(torch.Tensor.detach))


def by_optimizer(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def end():
        optimizer.step()
        optimizer.zero_grad()

    return end


def by_hand(net):
    def end():
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.sub_(0.01 * parameter.grad)
                parameter.grad = None

    return end


def through_data(net):
    def end():
        for parameter in net.parameters():
            parameter.data -= 0.01 * parameter.grad.data
            parameter.grad.data.zero_()

    return end


def cleared(net):
    return net.zero_grad


def totalled(rounds, begin, *, parts=4, end=by_optimizer, late=True):
    """Micro-batches whose losses add up to a total, beside the gradients that add up as well."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    finish, total = end(net), torch.zeros(())
    for _ in range(rounds):
        total = begin(total)
        for part in X.chunk(parts):
            loss = net(part).pow(2).mean()
            if late:
                loss.backward()
            total = total + loss
            if not late:
                loss.backward()
        finish()
    return total


@pytest.mark.parametrize("late", [True, False], ids=["after backward", "before backward"])
@pytest.mark.parametrize("end", [by_optimizer, by_hand, through_data, cleared])
def test_total_over_the_micro_batches_of_a_step(end, late):
    """It is let go of when the step is over; one that goes on has as many graphs as there were steps."""
    for rounds in (1, 2, 5):
        calm(lambda rounds=rounds: totalled(rounds, lambda _: torch.zeros(()), end=end, late=late))
    for parts in (1, 4):
        finding = diagnosed(
            lambda parts=parts: totalled(5, lambda total: total, parts=parts, end=end, late=late), "AG502",
            "total = total + loss", "total", "5 steps", severity="warning", where=totalled,
        )  # fmt: skip
        assert "item" in finding.fix


@pytest.mark.parametrize("parts", [1, 4])
def test_total_that_began_in_folded_steps(parts):
    """Of a long run the last steps are kept, and some links of the chain that goes through all of them."""
    diagnosed(
        lambda: totalled(30, lambda total: total, parts=parts), "AG502", "total = total + loss", "more and more steps",
        severity="warning", where=totalled,
    )  # fmt: skip
    assert not alarms(inspected(lambda: totalled(30, lambda _: torch.zeros(()), parts=parts)))


def test_total_over_backwards_that_no_gradient_is_kept_of():
    """Each begins a round of its own, for there is nothing that would add up."""

    def program(number):
        net = nn.Linear(4, 1).requires_grad_(False)
        total = torch.zeros(())
        for _ in range(5):
            x = X.clone().requires_grad_()
            loss = net(x).pow(2).mean()
            loss.backward()
            total = total + number(loss)

    diagnosed(
        lambda: program(lambda loss: loss), "AG502", "total = total + number(loss)", "5 steps",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(torch.Tensor.detach))


def test_total_over_models_that_step_together():
    """Each has gradients of its own, which wait for the step of its optimizer."""

    def program(begin):
        nets = [nn.Linear(4, 1) for _ in range(3)]
        optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=0.01)
        total = torch.zeros(())
        for _ in range(4):
            total = begin(total)
            for net in nets:
                loss = net(X).pow(2).mean()
                loss.backward()
                total = total + loss
            optimizer.step()
            optimizer.zero_grad()

    calm(lambda: program(lambda _: torch.zeros(())))
    diagnosed(
        lambda: program(lambda total: total), "AG502", "total = total + loss", "4 steps",
        severity="warning", where=program,
    )  # fmt: skip


def test_gradients_cleared_just_before_the_first_backward_of_a_step():
    """The round began before that, with the forward."""

    def program(begin):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        total = torch.zeros(())
        for _ in range(4):
            total = begin(total)
            for number, part in enumerate(X.chunk(4)):
                loss = net(part).pow(2).mean()
                total = total + loss
                if not number:
                    optimizer.zero_grad()
                loss.backward()
            optimizer.step()

    calm(lambda: program(lambda _: torch.zeros(())))
    diagnosed(
        lambda: program(lambda total: total), "AG502", "total = total + loss", "4 steps",
        severity="warning", where=program,
    )  # fmt: skip


class Cached:
    """A sample that refers to what drew it, as the cache of a transform does."""

    def __init__(self, net):
        self.value = net(X)
        self.value.drawn_by = self


def sampled(kept):
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        drawn = Cached(net)
        kept(drawn)
        optimizer.zero_grad()
        drawn.value.pow(2).mean().backward()
        optimizer.step()


def test_reference_cycles_are_no_list():
    """What the collector will free is kept by nobody; what a list has as well is kept."""
    kept = []
    found = alarms(inspected(lambda: sampled(kept.append)))
    assert [finding.rule for finding in found] == ["AG502"]
    calm(lambda: sampled(lambda drawn: None))
