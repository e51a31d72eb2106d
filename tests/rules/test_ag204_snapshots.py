"""AG204: values that were kept without a copy, and changed with the tensor."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def made():
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def step(net, optimizer):
    optimizer.zero_grad()
    net(X).pow(2).mean().backward()
    optimizer.step()  # Changed.


def best_of_a_run():
    net, optimizer = made()
    best = net.state_dict()  # Kept.
    step(net, optimizer)
    net.load_state_dict(best)


def backup_of_data():
    net, optimizer = made()
    backup = [p.data for p in net.parameters()]  # Kept.
    step(net, optimizer)
    for p, value in zip(net.parameters(), backup, strict=True):
        p.data = value


def copied_back():
    net, optimizer = made()
    backup = [p.detach() for p in net.parameters()]  # Kept.
    step(net, optimizer)
    with torch.no_grad():
        for p, value in zip(net.parameters(), backup, strict=True):
            p.copy_(value)


@pytest.mark.parametrize("program", [best_of_a_run, backup_of_data, copied_back])
def test_restoring_what_was_never_copied(program):
    """The memory is written onto itself: told at the line that kept it, with what changed it."""
    finding = diagnosed(program, "AG204", "Kept.", "weight", "copy", "restores nothing", severity="warning")
    assert line_of(step, "Changed.") in [place.lineno for place in finding.locations]


def difference():
    net, optimizer = made()
    before = net.weight.data  # Kept.
    step(net, optimizer)
    return (net.weight.data - before).norm()


def comparison():
    net, optimizer = made()
    before = net.weight.detach()  # Kept.
    step(net, optimizer)
    return (before != net.weight).any()


def averaged():
    net, optimizer = made()
    states = []
    for _ in range(2):
        step(net, optimizer)
        states.append(net.state_dict())  # Kept.
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


@pytest.mark.parametrize("program", [difference, comparison, averaged])
def test_comparing_what_was_never_copied(program):
    """The difference to itself is zero, whatever the step did."""
    diagnosed(program, "AG204", "Kept.", "weight", "never differ", severity="warning")


def copied():
    net, optimizer = made()
    best = {name: value.clone() for name, value in net.state_dict().items()}
    deep, before = copy.deepcopy(net.state_dict()), net.weight.detach().clone()
    step(net, optimizer)
    print((net.weight - before).norm(), (net.weight != before).any())
    net.load_state_dict(best)
    net.load_state_dict(deep)


def loaded_at_once():
    net, optimizer = made()
    step(net, optimizer)
    state = net.state_dict()
    state["bias"] = torch.zeros(2)
    net.load_state_dict(state)


def written_through():
    net, optimizer = made()
    step(net, optimizer)
    for p in net.parameters():
        value = p.data
        value.sub_(0.1 * p.grad)
        value[0].zero_()
        p.data = value


def straight_through():
    net, optimizer = made()
    for _ in range(2):
        optimizer.zero_grad()
        out = net(X)
        (out + (out.round() - out).detach() + (out - out.detach())).pow(2).mean().backward()
        optimizer.step()


def saved_beside():
    net, optimizer = made()
    other = nn.Linear(4, 2)
    step(net, optimizer)
    other.load_state_dict(net.state_dict())
    step(net, optimizer)
    other.load_state_dict(net.state_dict())


@pytest.mark.parametrize("program", [copied, loaded_at_once, written_through, straight_through, saved_beside])
def test_aliases_that_are_meant(program):
    """A copy, an alias that is used before anything changes it, or through which the program itself writes."""
    calm(program)


def federated(keep):
    """Three clients train one worker in turn, and the server averages what they kept of it."""
    worker, optimizer = made()
    start, kept = [p.detach().clone() for p in worker.parameters()], []
    for _ in range(3):
        with torch.no_grad():
            for p, value in zip(worker.parameters(), start, strict=True):
                p.copy_(value)
        step(worker, optimizer)
        kept.append(keep(worker))
    with torch.no_grad():
        return {name: sum(state[name] * (1 / 3) for state in kept) for name in kept[0]}


def alias_of_all(worker):
    return worker.state_dict()  # Kept.


def copy_of_all(worker):
    return {name: value.clone() for name, value in worker.state_dict().items()}


def test_an_average_over_one_memory():
    """What was kept of each client is the last one's: the line that kept it."""
    finding = diagnosed(
        lambda: federated(alias_of_all), "AG204", "Kept.", "weight", "several times", severity="warning",
        where=alias_of_all,
    )  # fmt: skip
    assert "adds the last values" in finding.message


def test_sums_of_a_value_with_itself():
    """An average over copies; two aliases of a value that nothing changes in between, or that is to be the new one."""
    calm(lambda: federated(copy_of_all))

    def twice():
        net, optimizer = made()
        for _ in range(2):
            step(net, optimizer)
            print(float((net.weight.detach() + 0.5 * net.weight.detach()).sum()))

    def averaged_in_time():
        """Each term was a product of the values of its time."""
        net, optimizer = made()
        average = net.weight.detach().clone()
        for _ in range(3):
            step(net, optimizer)
            average = 0.9 * average + 0.1 * net.weight.detach()
        print(float((average - net.weight.detach()).norm()))

    calm(twice, averaged_in_time)


def guarded(keep, *, again=False, back=True):
    """Two good steps, a bad one, and the optimizer as it was before that."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    step(net, optimizer)
    state = keep(optimizer)
    step(net, optimizer)
    if again:
        state = keep(optimizer)
    if back:
        optimizer.load_state_dict(state)


def own_state(optimizer):
    return optimizer.state_dict()  # Kept.


def test_state_of_an_optimizer_that_was_never_copied():
    """What state_dict() of an optimizer returns goes on with it; a copy does not, and without a step all is well."""
    finding = diagnosed(
        lambda: guarded(own_state), "AG204", "Kept.", "exp_avg", "restores nothing", severity="warning", where=own_state
    )
    assert "copy.deepcopy(optimizer.state_dict())" in finding.fix
    calm(
        lambda: guarded(lambda optimizer: copy.deepcopy(optimizer.state_dict())),
        lambda: guarded(own_state, again=True),
        lambda: guarded(own_state, back=False),
    )


def test_state_that_another_optimizer_takes_over():
    """An optimizer that is made anew goes on with the state of the one before; so does one of a copy of the model."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        step(net, optimizer)
        state = optimizer.state_dict()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        optimizer.load_state_dict(state)
        step(net, optimizer)

    calm(program)


def followed(keep, renew=False, loss=True):
    """A network learns to agree with what functional code computes with kept parameters."""
    net, optimizer = made()
    kept = keep(net)
    for _ in range(3):
        if renew:
            kept = keep(net)
        with torch.no_grad():
            target = torch.func.functional_call(net, kept, (X + 1,))
        optimizer.zero_grad()
        (net(X) - (0.9 * target if loss else 1)).pow(2).mean().backward()
        optimizer.step()
    return target


def as_state(net):
    return net.state_dict()  # Window.


def as_aliases(net):
    return {name: p.detach() for name, p in net.named_parameters()}  # Window.


def as_copies(net):
    return {name: p.detach().clone() for name, p in net.named_parameters()}


@pytest.mark.parametrize("keep", [as_state, as_aliases])
def test_targets_computed_with_what_was_never_copied(keep):
    """The target network is the trained one, where its parameters were kept without a copy before the steps."""
    diagnosed(
        lambda: followed(keep), "AG204", "# Window.", "weight", "target of the loss", severity="warning", where=keep
    )


def test_targets_of_copies_and_of_the_current_network():
    """Nothing is said of copies, of what is taken anew for each loss, nor of a look that no loss is made of."""
    calm(
        lambda: followed(as_copies),
        lambda: followed(as_state, renew=True),
        lambda: followed(as_state, loss=False),
        lambda: followed(lambda net: dict(net.named_parameters())),
    )
