"""AG501: the advice fits what is carried over, one tensor or several."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(5, 2, 3, generator=torch.Generator().manual_seed(1))


def rounds(net, cut):
    state = None
    for _ in range(2):
        out, state = net(X, state)
        out.sum().backward()
        state = cut(state)


def kept(state):
    return state


def test_state_of_an_lstm():
    """An LSTM's state is a tuple, which has no detach(): each of its items is cut off, and that works."""
    finding = diagnosed(
        lambda: rounds(nn.LSTM(3, 4), kept), "AG501", "out, state = net", "state", severity="error", where=rounds
    )
    assert "`state = tuple(t.detach() for t in state)`" in finding.fix
    calm(lambda: rounds(nn.LSTM(3, 4), lambda state: tuple(t.detach() for t in state)))


def test_state_of_a_gru():
    """A GRU's state is one tensor."""
    finding = diagnosed(
        lambda: rounds(nn.GRU(3, 4), kept), "AG501", "out, state = net", "state", severity="error", where=rounds
    )
    assert "`state = state.detach()`" in finding.fix
    calm(lambda: rounds(nn.GRU(3, 4), torch.Tensor.detach))


def test_state_in_two_variables():
    """Where hidden and cell state have a variable each, both are named."""

    def program():
        net, hidden, cell = nn.LSTM(3, 4), torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
        for _ in range(2):
            out, (hidden, cell) = net(X, (hidden, cell))
            out.sum().backward()

    finding = diagnosed(program, "AG501", "out, (hidden, cell) = net", "hidden", severity="error")
    assert "`hidden, cell = hidden.detach(), cell.detach()`" in finding.fix


def test_state_of_a_cell():
    """A variable that holds the whole tuple is rebuilt item by item."""

    def program():
        cell, state = nn.LSTMCell(3, 4), None
        for _ in range(2):
            state = cell(X[0], state)
            state[0].sum().backward()

    finding = diagnosed(program, "AG501", "state = cell", "state", severity="error")
    assert "`state = tuple(t.detach() for t in state)`" in finding.fix


def test_weights_that_the_next_round_differentiates():
    """What the next round asks for the gradient of has to require grad once it is cut off."""

    def program(*, anew):
        rate = nn.Parameter(torch.tensor(0.1))
        optimizer = torch.optim.Adam([rate], 1e-2)
        w = torch.randn(3, 1, requires_grad=True)
        for _ in range(3):
            (g,) = torch.autograd.grad((X[0] @ w).pow(2).mean(), w, create_graph=True)
            updated = w - rate * g
            optimizer.zero_grad()
            (X[1] @ updated).pow(2).mean().backward()
            optimizer.step()
            if anew:
                updated = updated.detach().requires_grad_()
            w = updated

    finding = diagnosed(
        lambda: program(anew=False), "AG501", "updated = w - rate * g", "updated", severity="error", where=program
    )
    assert "`updated = updated.detach().requires_grad_()`" in finding.fix
    calm(lambda: program(anew=True))


def test_images_of_a_generator_in_the_loss_of_its_critic():
    """The line that scores them for the critic's loss, where they are to be detached, is among the places."""

    def program(*, apart):
        generator, critic = nn.Linear(3, 3), nn.Linear(3, 1)
        of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
        of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
        fake = generator(X[0])
        given = [fake.detach() if apart else fake]
        critic(*given).mean().backward()  # Scored.
        of_critic.step()
        of_generator.zero_grad()
        (-critic(fake).mean()).backward()
        of_generator.step()

    finding = diagnosed(
        lambda: program(apart=False), "AG501", "# Scored.", "backpropagated first", severity="error", where=program
    )
    assert any("fake = generator" in place.source for place in finding.locations)
    calm(lambda: program(apart=True))


def test_a_gradient_asked_for_in_between_frees_nothing():
    """What led into the freed graph is looked for behind the backward that freed it; the sum of the round is not it."""

    def program(*, cut):
        cell, w = nn.GRUCell(3, 3), torch.randn(3, requires_grad=True)
        state = torch.zeros(2, 3)
        for _ in range(2):
            total = 0.0
            for _ in range(2):
                torch.autograd.grad((X[0] @ w).sum(), w, retain_graph=True)
                state = cell(X[0][:2], state)
                total = total + state.sum()
            total.backward()
            if cut:
                state = state.detach()

    diagnosed(
        lambda: program(cut=False),
        "AG501",
        "state = cell",
        "state is used in `gru_cell`",
        severity="error",
        where=program,
    )
    calm(lambda: program(cut=True))
