"""AG407: two parameters on one memory, both of which are written."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def teacher_of(net, give, update, rounds=3):
    """A teacher that gets its values by ``give`` and follows by ``update``; the optimizer has the student."""
    teacher = copy.deepcopy(net).requires_grad_(False)
    for mine, its in zip(teacher.parameters(), net.parameters(), strict=True):
        give(mine, its)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(rounds):
        with torch.no_grad():
            target = teacher(X)
        trained(optimizer, F.mse_loss(net(X), target + 1))
        with torch.no_grad():
            for mine, its in zip(teacher.parameters(), net.parameters(), strict=True):
                update(mine, its)


def shares(mine, its):
    mine.data = its.data


def shares_a_copy(mine, its):
    mine.data = its.data.clone()


def copies(mine, its):
    mine.data.copy_(its.data)


def follows(mine, its):
    mine.mul_(0.9).add_(its, alpha=0.1)


def follows_through_data(mine, its):
    mine.data.copy_(0.9 * mine.data + 0.1 * its.data)


def is_replaced(mine, its):
    mine.data = 0.9 * mine.data + 0.1 * its.data


def stays(mine, its):
    pass


@pytest.mark.parametrize("update", [follows, follows_through_data])
@pytest.mark.parametrize("rounds", [3, 30])
def test_teacher_on_the_memory_of_its_student(update, rounds):
    """The assignment of `.data` is to blame."""
    found = diagnosed(
        lambda: teacher_of(nn.Linear(4, 2), shares, update, rounds), "AG407", "mine.data = its.data", "weight", "bias",
        severity="warning", where=shares,
    )  # fmt: skip
    assert "clone()" in found.fix


def test_teachers_of_their_own():
    """Copied values, memory that is exchanged by the first update, and an alias that nobody writes."""
    for give, update in (
        (shares_a_copy, follows),
        (copies, follows_through_data),
        (shares, is_replaced),
        (shares, stays),
        (shares, shares),
    ):
        calm(lambda give=give, update=update: teacher_of(nn.Linear(4, 2), give, update))


class Autoencoder(nn.Module):
    def __init__(self, tie):
        super().__init__()
        self.inner = nn.Linear(4, 3)
        tie(self)

    def forward(self, x):
        weight = self.outer if hasattr(self, "outer") else self.inner.weight.t()
        return F.linear(torch.tanh(self.inner(x)), weight)


def transposed(net):
    net.outer = nn.Parameter(net.inner.weight.t())


def rewrapped(net):
    net.outer = nn.Parameter(net.inner.weight.data.view(4, 3))


def cloned(net):
    net.outer = nn.Parameter(net.inner.weight.t().clone())


def computed(net):
    pass


def autoencoder(tie, optimizer=torch.optim.Adam, rounds=3):
    net = Autoencoder(tie)
    steps = optimizer(net.parameters(), lr=0.01)
    for _ in range(rounds):
        trained(steps, F.mse_loss(net(X), X))


@pytest.mark.parametrize("tie", [transposed, rewrapped])
def test_a_second_parameter_of_the_same_values(tie):
    """It is stepped as well, with moments of its own."""
    diagnosed(
        lambda: autoencoder(tie),
        "AG407",
        "net.outer = nn.Parameter(",
        "outer",
        "inner.weight",
        severity="warning",
        where=tie,
    )
    calm(lambda: autoencoder(cloned), lambda: autoencoder(computed))


def test_plain_gradient_descent():
    """Two steps on one memory add up to the step of one shared parameter: that may be meant."""
    report = inspected(lambda: autoencoder(transposed, torch.optim.SGD))
    assert [(f.rule, f.severity) for f in report.findings if f.rule == "AG407"] == [("AG407", "info")], summary(report)
    assert not alarms(report)


def test_a_state_dict_that_is_assigned():
    """With `assign=True` a model takes over the tensors that another one still trains."""

    def program():
        one, other = nn.Linear(4, 4), nn.Linear(4, 4)
        other.load_state_dict(one.state_dict(), assign=True)
        optimizer = torch.optim.Adam([*one.parameters(), *other.parameters()], lr=0.01)
        for _ in range(2):
            trained(optimizer, other(one(X)).pow(2).mean())

    diagnosed(program, "AG407", "load_state_dict", "weight", severity="warning")


def test_one_parameter_under_two_names():
    """Tied weights are one tensor."""

    def program():
        embedding, head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
        head.weight = embedding.weight
        net = nn.Sequential(embedding, head)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            trained(optimizer, net(torch.arange(5)).pow(2).mean())

    calm(program)


def test_parts_of_one_memory():
    """Flattened parameters lie apart; so do those of a recurrent layer, and the flat tensor itself is not written."""

    def flattened(flat_is_parameter):
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        flat = torch.cat([p.detach().flatten() for p in net.parameters()])
        flat = nn.Parameter(flat) if flat_is_parameter else flat
        start = 0
        for p in net.parameters():
            p.data = flat.data[start : start + p.numel()].view_as(p)
            start += p.numel()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())

    def recurrent():
        net = nn.LSTM(4, 4)
        net.flatten_parameters()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            trained(optimizer, net(X[None])[0].pow(2).mean())

    calm(lambda: flattened(False), lambda: flattened(True), recurrent)


def test_what_shows_the_memory_of_a_parameter():
    """Parametrizations, snapshots, averages and stacked copies are no second parameters."""

    def parametrized():
        net = nn.Sequential(
            parametrizations.weight_norm(nn.Linear(4, 4)), parametrizations.spectral_norm(nn.Linear(4, 4))
        )
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())

    def restored():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.Adam(net.parameters())
        best = copy.deepcopy(net.state_dict())
        for _ in range(3):
            live = net.state_dict()
            trained(optimizer, net(X).pow(2).mean())
            live["weight"].clamp_(-1, 1)
        net.load_state_dict(best)

    def averaged():
        net = nn.Linear(4, 4)
        average = torch.optim.swa_utils.AveragedModel(net)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())
            average.update_parameters(net)

    def stacked():
        nets = [nn.Linear(4, 4) for _ in range(3)]
        parameters, buffers = torch.func.stack_module_state(nets)
        optimizer = torch.optim.Adam(parameters.values())
        for _ in range(3):
            out = torch.func.vmap(lambda p, b: torch.func.functional_call(nets[0], (p, b), (X,)))(parameters, buffers)
            trained(optimizer, out.pow(2).mean())

    calm(parametrized, restored, averaged, stacked)


def prompted(rows_of):
    """A prompt that begins as rows of a frozen table, which goes on being read."""
    table = nn.Embedding(10, 4)
    table.requires_grad_(False)
    prompts = nn.ParameterList([nn.Parameter(rows_of(table))])
    optimizer = torch.optim.Adam(prompts.parameters(), lr=0.1)
    for _ in range(3):
        words = table(torch.arange(5))
        trained(optimizer, (torch.cat([prompts[0], words]) - 1).pow(2).mean())


def test_rows_of_a_frozen_table():
    """The steps of the prompt move the words; a copy of the rows moves alone."""

    def shared(table):
        return table.weight[:2]

    diagnosed(
        lambda: prompted(shared), "AG407", "nn.Parameter(rows_of(table))", "weight", severity="warning", where=prompted
    )
    calm(lambda: prompted(lambda table: table.weight[:2].detach().clone()))


def clients(take, give=None, rounds=2):
    """Each trains from the same arrays in turn, which ``take`` puts into its net; ``give``: what the next one gets."""
    arrays = [p.detach().numpy().copy() for p in nn.Linear(4, 1).parameters()]
    nets = [nn.Linear(4, 1) for _ in range(rounds)]
    for net in nets:
        take(net, arrays)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
        arrays = arrays if give is None else give(net)
    return nets


def assigned(net, arrays):
    state = dict(zip(net.state_dict(), map(torch.from_numpy, arrays), strict=True))
    net.load_state_dict(state, assign=True)  # assigned


def given_the_array(net, arrays):
    for p, array in zip(net.parameters(), arrays, strict=True):
        p.data = torch.from_numpy(array)  # assigned


@pytest.mark.parametrize("take", [assigned, given_the_array])
def test_arrays_that_several_models_are_trained_on(take):
    """Each tensor over an array has a storage of its own, and the second model begins where the first one ended."""
    diagnosed(lambda: clients(take), "AG407", "# assigned", "weight", "share memory", severity="warning", where=take)


def test_arrays_that_are_copied_or_handed_on():
    """Loaded by copying, cloned, copied before, or passed from one model to the next, which goes on with it."""

    def loaded(net, arrays):
        net.load_state_dict(dict(zip(net.state_dict(), map(torch.from_numpy, arrays), strict=True)))

    def cloned(net, arrays):
        assigned(net, [array.copy() for array in arrays])

    def alone(net, arrays):
        state = dict(zip(net.state_dict(), map(torch.tensor, arrays), strict=True))
        net.load_state_dict(state, assign=True)

    def own(net):
        return [p.detach().numpy() for p in net.parameters()]

    calm(lambda: clients(loaded), lambda: clients(cloned), lambda: clients(alone), lambda: clients(assigned, own))
