"""AG502: a tensor that each step modifies in place, where autograd records it, has the graphs of all steps."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def pair():
    net = nn.Linear(4, 4)
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def averaged(update, rounds=4):
    """The weights of a frozen copy follow those that are trained."""
    net, optimizer = pair()
    average = copy.deepcopy(net).requires_grad_(False)
    for _ in range(rounds):
        trained(optimizer, net(X).pow(2).mean())
        for mean, p in zip(average.parameters(), net.parameters(), strict=True):
            update(mean, p)


def recorded_average(mean, p):
    mean.mul_(0.9).add_(p, alpha=0.1)


def recorded_averages(means, ps):
    torch._foreach_lerp_(means, ps, 0.1)


def averaged_each(update):
    net, optimizer = pair()
    average = copy.deepcopy(net).requires_grad_(False)
    for _ in range(4):
        trained(optimizer, net(X).pow(2).mean())
        update(list(average.parameters()), list(net.parameters()))


def test_average_of_weights():
    """Every update of a moving average is recorded as long as the weights are read with gradients on."""
    for rounds, steps in ((4, "4 steps"), (40, "more and more steps")):
        found = diagnosed(
            lambda rounds=rounds: averaged(recorded_average, rounds), "AG502", "mean.mul_(0.9)", "average.weight",
            steps, severity="warning", where=recorded_average,
        )  # fmt: skip
        assert "no_grad" in found.fix
        assert "detach" in found.fix
    diagnosed(
        lambda: averaged_each(recorded_averages), "AG502", "_foreach_lerp_", "average.weight", severity="warning",
        where=recorded_averages,
    )  # fmt: skip


def test_one_step_shows_that_a_parameter_becomes_a_result():
    """A model's parameter that autograd gave a graph is no leaf: no later step has to be seen."""
    net, optimizer = pair()
    average = copy.deepcopy(net).requires_grad_(False)

    def one_step():
        trained(optimizer, net(X).pow(2).mean())
        for mean, p in zip(average.parameters(), net.parameters(), strict=True):
            recorded_average(mean, p)

    found = diagnosed(
        one_step, "AG502", "mean.mul_(0.9)", "no longer a leaf", "mean", severity="warning",
        where=recorded_average,
    )  # fmt: skip
    assert "no_grad" in found.fix


def test_a_parameter_that_a_backward_reads_through():
    """Generated weights that are written into a layer train their generator: its graph is needed."""

    def generated():
        net, optimizer = pair()
        layer = nn.Linear(4, 4, bias=False).requires_grad_(False)
        layer.weight.copy_(net(X)[:4])
        trained(optimizer, layer(X).pow(2).mean())

    calm(generated)


def test_average_without_a_history():
    """Detached weights, no_grad and `.data` leave none."""
    lerp = torch.no_grad()(lambda mean, p: mean.lerp_(p, 0.1))
    calm(
        lambda: averaged(lerp, 1),
        lambda: averaged(lerp),
        lambda: averaged(lambda mean, p: mean.mul_(0.9).add_(p.detach(), alpha=0.1)),
        lambda: averaged(lambda mean, p: mean.data.mul_(0.9).add_(p.data, alpha=0.1)),
        lambda: averaged(lambda mean, p: mean.copy_(p.detach())),
        lambda: averaged_each(torch.no_grad()(recorded_averages)),
    )
    assert not alarms(inspected(lambda: averaged(lerp, rounds=40)))


def kept(update, rounds=4, *, before=False):
    """A buffer, which each step updates with the activations."""
    net, optimizer = pair()
    buffer = torch.zeros(8, 4)
    for number in range(rounds):
        out = net(X)
        if before:
            update(buffer, out, number)
        trained(optimizer, out.pow(2).mean())
        if not before:
            update(buffer, out, number)
    return buffer


def row_by_row(buffer, out, number):
    buffer[number % 8] = out[0]


def slice_by_slice(buffer, out, number):
    buffer[:2].copy_(out[:2])


def filled_anew(buffer, out, number):
    buffer.zero_()
    buffer.add_(out)


def running_mean(buffer, out, number):
    buffer.mul_(0.9)
    buffer += 0.1 * out


@pytest.mark.parametrize(
    ("update", "culprit"),
    [
        (row_by_row, "= out[0]"),
        (slice_by_slice, "copy_(out"),
        (filled_anew, "add_(out)"),
        (running_mean, "+= 0.1"),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_buffers(update, culprit, before):
    """A ring buffer, a refill and a running mean: overwriting all of it does not take the history away either."""
    for rounds in (4, 40):
        found = diagnosed(
            lambda rounds=rounds: kept(update, rounds, before=before), "AG502", culprit, "buffer",
            severity="warning", where=update,
        )  # fmt: skip
        assert "detach" in found.fix


def test_buffers_that_lose_their_history():
    """What is stored without a graph, or loses it at the end of the step, keeps nothing of the steps before."""

    def taken_away(buffer, out, number):
        buffer.mul_(0.9).add_(out)
        buffer.detach_()

    def of_an_alias(buffer, out, number):
        buffer.detach()[number % 8] = out[0]

    for update in (
        taken_away,
        of_an_alias,
        lambda buffer, out, number: row_by_row(buffer, out.detach(), number),
        torch.no_grad()(running_mean),
        lambda buffer, out, number: buffer.add_(out.mean().item()),
    ):
        calm(lambda update=update: kept(update))
        assert not alarms(inspected(lambda update=update: kept(update, 40)))


def test_total():
    """`total += loss` modifies a tensor in place where the total is one."""

    def program(number):
        net, optimizer = pair()
        total = torch.zeros(())
        for _ in range(4):
            loss = net(X).pow(2).mean()
            trained(optimizer, loss)
            total += number(loss)

    found = diagnosed(
        lambda: program(lambda loss: loss), "AG502", "total += ", "total", severity="warning", where=program
    )
    assert "loss.item()" in found.fix
    calm(lambda: program(torch.Tensor.detach), lambda: program(torch.Tensor.item))


def test_results_that_are_filled_in():
    """A tensor of each step's own, and one that is filled in its part of a step, are computation."""

    def each_step():
        net, optimizer = pair()
        for _ in range(4):
            out = torch.zeros(8, 4)
            for row in range(8):
                out[row] = net(X[row])
            trained(optimizer, out.pow(2).mean())

    def recurrent():
        net, optimizer = pair()
        for _ in range(4):
            state = torch.zeros(8, 4)
            loss = 0.0
            for _ in range(3):
                state = state.clone()
                state += net(X)
                loss = loss + state.pow(2).mean()
            trained(optimizer, loss)

    calm(each_step, recurrent)


def test_total_that_is_trained_on():
    """A meta loss that adds up over inner steps, and goes backward at the end."""

    def program():
        outer = nn.Linear(4, 4)
        outer_optimizer = torch.optim.SGD(outer.parameters(), lr=0.01)
        net, optimizer = pair()
        total = torch.zeros(())
        for _ in range(4):
            hidden = outer(X)
            trained(optimizer, net(hidden.detach()).pow(2).mean())
            total += hidden.pow(2).mean()
        trained(outer_optimizer, total)

    calm(program)


def test_memory_written_beside_a_result():
    """Batch statistics and a renormalised table are modified by what autograd records, and have no history."""

    def program():
        table = nn.Embedding(4, 4, max_norm=0.5)
        net = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 4), nn.ReLU(inplace=True))
        optimizer = torch.optim.SGD([*table.parameters(), *net.parameters()], lr=0.1)
        for _ in range(4):
            trained(optimizer, net(table(torch.tensor([0, 1, 2]))).pow(2).mean())

    calm(program)
