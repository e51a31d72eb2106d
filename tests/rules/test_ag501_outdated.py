"""AG501: graphs of earlier rounds that need no saved tensor, and those that a write in place has brought along."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm


def trained(token, net, tokens, rounds=4):
    """Some rounds in which the tokens are read as ``tokens()`` returns them."""
    optimizer = torch.optim.SGD([token, *net.parameters()], lr=0.1)
    for _ in range(rounds):
        optimizer.zero_grad()
        net(tokens() + torch.ones(3, 4)).pow(2).mean().backward()
        optimizer.step()


def test_copy_made_once():
    """What was computed before the loop is told with its line, and that nothing raises is no excuse."""

    def program():
        token, net = nn.Parameter(torch.zeros(1, 4)), nn.Linear(4, 1)
        tokens = token.repeat(3, 1)
        trained(token, net, lambda: tokens)

    finding = diagnosed(program, "AG501", "token.repeat(3, 1)", "token", "3 steps", severity="warning")
    assert not inspected(program).capture.error
    assert finding.fix.startswith("Compute ")


def test_views_follow_the_parameter():
    """A view made once shows the values of now; so does what is computed in each round; a constant is no matter."""

    def view():
        token, net = nn.Parameter(torch.zeros(1, 4)), nn.Linear(4, 1)
        tokens = token.expand(3, 4)
        trained(token, net, lambda: tokens)

    def fresh():
        token, net = nn.Parameter(torch.zeros(1, 4)), nn.Linear(4, 1)
        trained(token, net, lambda: token.repeat(3, 1))

    def constant():
        token, net = nn.Parameter(torch.zeros(1, 4)), nn.Linear(4, 1)
        start = token.detach().repeat(3, 1)
        trained(token, net, lambda: token + start)

    calm(view, fresh, constant)


def test_running_statistics():
    """What a batch norm writes without a graph is no graph of an earlier round."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            optimizer.step()

    calm(program)


def test_two_losses_of_one_round():
    """One step between two losses of a shared graph is not many rounds."""

    def program():
        shared, one, two = (nn.Linear(4, 4, bias=False) for _ in range(3))
        first = torch.optim.SGD(one.parameters(), lr=0.1)
        second = torch.optim.SGD([*shared.parameters(), *two.parameters()], lr=0.1)
        for _ in range(3):
            hidden = shared(torch.ones(2, 4))
            losses = one(hidden).sum(), two(hidden).sum()
            for optimizer, loss in zip((first, second), losses, strict=True):
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
            first.step()
            second.step()

    calm(program)


def test_memory_that_a_write_gave_a_graph():
    """A buffer that had none when it was made carries the graph that was written into it."""
    cell = nn.Linear(4, 4)

    def rounds(carried):
        memory = torch.zeros(5, 4)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        for _ in range(2):
            memory = carried(memory).clone()
            new = cell(memory[:2]).tanh()
            memory = memory.clone()
            memory[:2] = new
            optimizer.zero_grad()
            (memory.sum() + new.pow(2).sum()).backward()
            optimizer.step()

    def program():
        rounds(lambda kept: kept)

    diagnosed(program, "AG501", "memory[:2] = new", "memory", severity="error", where=rounds)
    calm(lambda: rounds(lambda kept: kept.detach()))


def planned(bound, *, rounds=4):
    """Some rounds in which the actions are moved by the optimizer and then bounded."""
    actions = torch.zeros(3, 4, requires_grad=True)
    optimizer = torch.optim.SGD([actions], lr=1.0)
    for _ in range(rounds):
        optimizer.zero_grad()
        (actions - 3).pow(2).sum().backward()
        optimizer.step()
        actions = bound(actions)


def test_leaf_replaced_by_what_is_computed_of_it():
    """The optimizer goes on with the leaf: with saved tensors the third round raises, without any nothing does."""

    def clamped(actions):
        return actions.clamp(-1, 1)  # Replaced.

    def noisy(actions):
        return actions + 0.01  # Replaced.

    def in_place(actions):
        with torch.no_grad():
            return actions.clamp_(-1, 1)

    for bound, severity in ((clamped, "error"), (noisy, "warning")):
        diagnosed(lambda bound=bound: planned(bound), "AG501", "# Replaced.", "actions", severity=severity, where=bound)
    calm(lambda: planned(in_place))


def test_inner_steps_start_from_the_leaf_again():
    """Weights that are adapted anew in each round, by one line several times, replace nothing."""

    def program():
        weight = nn.Parameter(torch.ones(4, 1))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        for _ in range(4):
            fast = weight
            for _ in range(2):
                (grad,) = torch.autograd.grad((torch.ones(2, 4) @ fast).pow(2).sum(), fast)
                fast = fast - 0.01 * grad
            optimizer.zero_grad()
            (torch.ones(2, 4) @ fast).pow(2).sum().backward()
            optimizer.step()

    calm(program)
