"""AG101: hidden states that are detached in every step of a recurrence."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected
from .twins import calm


def learn(net, loss_of, steps=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(torch.randn(4, 6, 8)).backward()
        optimizer.step()


class Recurrent(nn.Module):
    """A cell and what reads its state."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(8, 8), nn.Linear(8, 1)

    def first(self, x):
        return x.new_zeros(x.size(0), 8)


class Detached(Recurrent):
    def forward(self, x):
        h = self.first(x)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h.detach())
        return self.head(h).square().mean()


class DetachedWithOutputs(Recurrent):
    def forward(self, x):
        h, outputs = self.first(x), []
        for t in range(x.size(1)):
            h = h.detach()
            h = self.cell(x[:, t], h)
            outputs.append(self.head(h))
        return torch.stack(outputs).square().mean()


class EverySecondStep(Recurrent):
    def forward(self, x):
        h, outputs = self.first(x), []
        for t in range(x.size(1)):
            if t % 2 == 0:
                h = h.detach()
            h = self.cell(x[:, t], h)
            outputs.append(self.head(h))
        return torch.stack(outputs).square().mean()


class Recorded(Recurrent):
    def forward(self, x):
        h, seen = self.first(x), []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            seen.append(h.detach())
        return self.head(h).square().mean()


@pytest.mark.parametrize(("made", "culprit"), [(Detached, "h.detach())"), (DetachedWithOutputs, "h = h.detach()")])
def test_a_state_that_is_detached_in_each_step(made, culprit):
    """The cell sees each input next to a constant: told once, with the number of iterations."""

    def program():
        net = made()
        learn(net, net)

    diagnosed(
        program, "AG101", culprit, "5 iterations", "cell.weight_ih", "cell.weight_hh", "every k iterations",
        severity="warning", where=made.forward,
    )  # fmt: skip


@pytest.mark.parametrize("made", [EverySecondStep, Recorded])
def test_a_graph_that_is_bounded_or_watched(made):
    """Truncated backpropagation, and states that are kept for a look at them."""

    def program():
        net = made()
        learn(net, net)

    calm(program)


class Recycled(Recurrent):
    def forward(self, x):
        h = self.first(x)
        for _ in range(4):
            h = self.cell(x[:, 0], h.detach())
        return self.head(h).square().mean()


def test_a_result_that_is_refined_by_its_last_pass():
    """Each pass reads the same input, as when a structure is recycled or an equilibrium is sought."""

    def program():
        net = Recycled()
        learn(net, net)

    calm(program)


def test_truncation_between_backwards():
    """A state that is detached after each backward(), in a run that is long enough to be folded."""

    def program(steps):
        net = Recurrent()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        h = torch.zeros(4, 8)
        for _ in range(steps):
            h = net.cell(torch.randn(4, 8), h.detach())
            optimizer.zero_grad()
            net.head(h).square().mean().backward()
            optimizer.step()

    calm(lambda: program(5))
    assert not alarms(inspected(lambda: program(40)))


def test_a_prediction_that_is_fed_back():
    """It is compared with a target in each step, and a constant as the next input."""

    def program():
        net = nn.Linear(8, 8)

        def rollout(x):
            state, loss = x[:, 0], 0.0
            for t in range(1, 6):
                state = net(state.detach())
                loss = loss + F.mse_loss(state, x[:, t])
            return loss

        learn(net, rollout)

    calm(program)


def test_a_refinement_with_a_memory():
    """What is refined is detached in each iteration, and the gradient goes back by the hidden state, as in RAFT."""

    def program():
        net = nn.ModuleList([nn.GRUCell(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)])
        gru, delta, head = net

        def refined(x):
            hidden, flow = torch.zeros(4, 8), torch.zeros(4, 8)
            for _ in range(5):
                flow = flow.detach()
                hidden = gru(x[:, 0] - flow, hidden)
                flow = flow + delta(hidden)
            return head(flow).square().mean()

        learn(net, refined)

    calm(program)


def test_layers_that_learn_by_themselves():
    """Each layer has a loss of its own and takes the one before it as a constant: no parameter is used twice."""

    def program():
        layers, head = nn.ModuleList(nn.Linear(8, 8) for _ in range(4)), nn.Linear(8, 1)

        def greedy(x):
            h, loss = x[:, 0], 0.0
            for layer in layers:
                h = layer(h.detach()).relu()
                loss = loss + head(h).square().mean()
            return loss

        learn(nn.ModuleList([layers, head]), greedy)

    calm(program)
