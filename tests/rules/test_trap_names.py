"""The same program with names and comments that mean something else: what is said of it stays the same."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, silent, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def test_late_clipping_of_an_inference_net():
    """Clipping is what torch's clipping did; a limit measures if it was infinite, however it was written."""

    def program(limit):
        inference_net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(inference_net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(inference_net(X), Y))
            nn.utils.clip_grad_norm_(inference_net.parameters(), limit)

    diagnosed(lambda: program(1.0), "AG305", "clip_grad_norm_", "weight", severity="warning", where=program)
    silent(lambda: program(math.inf))


def test_clipping_under_another_name():
    """`clip = nn.utils.clip_grad_norm_` is the same function, and a function of that name is not."""
    shorten = nn.utils.clip_grad_norm_

    def renamed():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(net(X), Y))
            shorten(net.parameters(), 1.0)

    def clip_grad_norm_(parameters):
        return [p.grad.norm() for p in parameters]

    def named_so():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(net(X), Y))
            clip_grad_norm_(net.parameters())

    diagnosed(renamed, "AG305", "shorten(", "weight", severity="warning")
    silent(named_so)


def test_a_sample_beside_the_word_log_prob():
    """A sample is scored where it meets what it was drawn from, in a function of any name."""

    def program(score):
        net, other = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
        for _ in range(2):
            mean = net(X)
            drawn = torch.distributions.Normal(mean, 1.0).sample()  # log_prob
            trained(optimizer, score(drawn, mean, other) + net(X).pow(2).mean())

    def hidden(drawn, mean, other):
        return (drawn - other(X)).pow(2).mean()  # no log_prob needed

    def by_hand(drawn, mean, other):
        return -(drawn - mean).pow(2).mean() + other(X).mean()

    def by_distribution(drawn, mean, other):
        return -torch.distributions.Normal(mean, 1.0).log_prob(drawn * 1.0).mean() + other(X).mean()

    diagnosed(lambda: program(hidden), "AG104", ".sample()", "net", severity="warning", where=program)
    silent(lambda: program(by_hand), lambda: program(by_distribution))


def test_gradients_set_to_zero_by_other_means():
    """What leaves a gradient at zero clears it: filling, multiplying, assigning and copying zeros."""

    def fill(gradient):
        gradient.fill_(0)

    def multiply(gradient):
        gradient.mul_(0.0)

    def assign(gradient):
        gradient[:] = 0

    def copy(gradient):
        gradient.copy_(torch.zeros_like(gradient))

    def program(clear, *, late):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            F.mse_loss(net(X), Y).backward()
            for _ in range(late):
                optimizer.step()
            for parameter in net.parameters():
                clear(parameter.grad)
            if not late:
                optimizer.step()

    for clear in (fill, multiply, assign, copy):
        found = diagnosed(
            lambda clear=clear: program(clear, late=False), "AG305", "    gradient", "weight",
            severity="warning", where=clear,
        )  # fmt: skip
        assert "cleared" in found.message
        silent(lambda clear=clear: program(clear, late=True))


def test_two_losses_beside_the_word_deepcopy():
    """A detach is meant where its copy is the state of a module, not where a line says deepcopy."""

    def program():
        encoder, first, second = nn.Linear(4, 3), nn.Linear(3, 1), nn.Linear(3, 1)
        optimizer = torch.optim.Adam([*encoder.parameters(), *first.parameters(), *second.parameters()])
        hidden = encoder(X)
        first(hidden.detach()).mean().backward()  # deepcopy
        second(hidden.clone().detach()).mean().backward()
        optimizer.step()

    def momentum():
        net = nn.Linear(4, 1)
        teacher = copy.deepcopy(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(net(X), teacher(X).detach()))

    told = {finding.locations[0].source for finding in inspected(program).findings if finding.rule == "AG101"}
    assert len(told) == 2, told
    silent(momentum)


def test_an_update_that_is_printed():
    """New values that are printed, and nothing else, are dropped all the same."""

    def program(look):
        weight = torch.zeros(4, 1, requires_grad=True)
        for _ in range(3):
            loss = F.mse_loss(X @ weight, Y)
            loss.backward()
            with torch.no_grad():
                for parameter in [weight]:
                    new = parameter - 0.1 * parameter.grad
                    look(new)
            weight.grad = None

    for look in (lambda new: None, lambda new: print(new.mean().item()), lambda new: f"{new.abs().max():.2f}"):
        diagnosed(lambda look=look: program(look), "AG305", "new =", "weight", severity="warning", where=program)
