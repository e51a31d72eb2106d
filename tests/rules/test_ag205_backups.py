"""AG205: copies of parameters that were to be put back."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Average:
    def __init__(self, net):
        self.shadow = [p.detach().clone() for p in net.parameters()]
        self.backup = []

    @torch.no_grad()
    def update(self, net):
        for old, p in zip(self.shadow, net.parameters(), strict=True):
            old.lerp_(p, 0.1)

    @torch.no_grad()
    def swap_in(self, net):
        self.backup = [p.detach().clone() for p in net.parameters()]
        for old, p in zip(self.shadow, net.parameters(), strict=True):
            p.copy_(old)  # Written.

    @torch.no_grad()
    def swap_out(self, net):
        for old, p in zip(self.backup, net.parameters(), strict=True):
            p.copy_(old)


def averaged(swap_out, rounds=4, every=2):
    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        average = Average(net)
        for number in range(rounds):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            optimizer.step()
            average.update(net)
            if number % every == 1:
                average.swap_in(net)
                with torch.no_grad():
                    print(float(net(X).mean()))
                if swap_out:
                    average.swap_out(net)

    return program


def test_averaged_weights_that_stay():
    """After a look at the averaged weights the trained ones are not put back, and the next step goes on from there."""
    diagnosed(
        averaged(swap_out=False), "AG205", "Written.", "weight", "backup", severity="warning", where=Average.swap_in
    )


def test_a_perturbation_that_stays():
    """An attack on the weights, whose end forgets to take it back."""

    def attack(net, kept):
        for p in net.parameters():
            kept.append(p.data.clone())
            p.data.add_(0.01 * p.grad.sign())  # Written.

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            attack(net, [])
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            optimizer.step()

    diagnosed(program, "AG205", "Written.", "weight", severity="warning", where=attack)


def compared_at_the_end():
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = [p.detach().clone() for p in net.parameters()]
    for _ in range(3):
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            for p in net.parameters():
                p.clamp_(-1, 1)
    return before


def measured():
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        with torch.no_grad():
            old = net.weight.clone()
            net.weight.clamp_(-1, 1)
            print(float((net.weight - old).norm()))
        optimizer.step()


def clients_of_a_round():
    """What each client came to is kept; the last round's are compared with the average, those before are not."""
    server, worker = nn.Linear(4, 2), nn.Linear(4, 2)
    for _ in range(2):
        came_to = []
        for _ in range(3):
            with torch.no_grad():
                worker.weight.copy_(server.weight)
            optimizer = torch.optim.SGD(worker.parameters(), lr=0.1)
            optimizer.zero_grad()
            worker(X).pow(2).mean().backward()
            optimizer.step()
            came_to.append(worker.weight.detach().clone())
    return sum(came_to) / 3


def logged_by_a_closure():
    """Each call of the closure clamps the pixels first and keeps a copy of what it has seen last."""
    image = torch.rand(4, generator=torch.Generator().manual_seed(1)).requires_grad_()
    optimizer, log = torch.optim.LBFGS([image], lr=0.5, max_iter=3), []

    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        loss = (X @ image - 1).square().mean()
        loss.backward()
        log.append(image.detach().clone())
        return loss

    for _ in range(3):
        optimizer.step(closure)
    return log


@pytest.mark.parametrize(
    "program",
    [
        averaged(swap_out=True),
        averaged(swap_out=False, rounds=2),
        compared_at_the_end,
        measured,
        clients_of_a_round,
        logged_by_a_closure,
    ],
    ids=["put back", "at the end", "compared", "measured", "of which some are read", "taken behind the write"],
)
def test_copies_that_serve(program):
    """Put back, at the end of the training, kept for later or of the last call, or compared with: all, or some."""
    calm(program)


@pytest.mark.parametrize("by_data", [True, False])
def test_weights_written_through_an_alias_and_swapped_back_by_data(by_data):
    """An average is copied in to be evaluated, and other memory assigned again: the parameter's own was written."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        average = [p.detach().clone() for p in net.parameters()]
        for _ in range(3):
            optimizer.zero_grad()
            net(X).square().mean().backward()
            optimizer.step()
            backup = []
            for old, p in zip(average, net.parameters(), strict=True):
                backup.append(p.data.clone())
                if by_data:
                    p.data.copy_(old)
                else:
                    p.detach().copy_(old)
            with torch.no_grad():
                net(X)
            for old, p in zip(backup, net.parameters(), strict=True):
                p.data = old

    calm(program)


class InParts(Average):
    """Stores and writes in methods of their own."""

    def store(self, net):
        self.backup = [p.detach().clone() for p in net.parameters()]

    @torch.no_grad()
    def copy_to(self, net):
        for old, p in zip(self.shadow, net.parameters(), strict=True):
            p.data.copy_(old.data)  # Written in parts.


def in_parts(look, steps=4):
    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        average = InParts(net)
        for number in range(steps):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            optimizer.step()
            average.update(net)
            if number % 2:
                look(net, average)

    return program


def test_a_swap_by_two_methods():
    """One stores the weights, one writes the average, and what would put them back is not called; or it is."""

    def left(net, average):
        average.store(net)
        average.copy_to(net)
        with torch.no_grad():
            print(float(net(X).mean()))

    def put_back(net, average):
        left(net, average)
        average.swap_out(net)

    diagnosed(in_parts(left), "AG205", "Written in parts.", "weight", severity="warning", where=InParts.copy_to)
    calm(in_parts(put_back))


def test_copies_beside_other_values():
    """Of the first weights, before a load; of those of each round, where the next ones are no evaluation's."""

    def loaded():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        kept = [p.detach().clone() for p in net.parameters()]
        net.load_state_dict(nn.Linear(4, 2).state_dict())
        with torch.no_grad():
            print(float(net(X).mean()), len(kept))
        net(X).pow(2).mean().backward()
        optimizer.step()

    def synchronised(net, average):
        average.store(net)
        average.copy_to(net)

    calm(loaded, in_parts(synchronised))


def test_going_back_to_earlier_values():
    """The last weights are kept for a look from outside; the best ones, copied before, are loaded and trained on."""

    class Training:
        def __init__(self):
            self.net = nn.Linear(4, 2)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def train(self):
            for _ in range(2):
                self.optimizer.zero_grad()
                self.net(X).pow(2).mean().backward()
                self.optimizer.step()

        def keep(self):
            self.best = copy.deepcopy(self.net.state_dict())

        def back(self):
            self.net.load_state_dict(self.best)

        @torch.no_grad()
        def look(self):
            return float(self.net(X).mean())

    def program():
        training = Training()
        training.train()
        training.keep()
        training.train()
        last = [p.detach().clone() for p in training.net.parameters()]
        training.back()
        training.look()
        training.train()
        return last

    calm(program)
