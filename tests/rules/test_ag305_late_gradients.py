"""AG305: a step applies an old gradient once more, or has applied what is dropped afterwards."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def loss_of(net):
    return F.cross_entropy(net(X), Y)


def workers(hand_over):
    """A worker computes the gradients that the central model is stepped with."""
    central, worker = network(), network()
    optimizer = torch.optim.RMSprop(central.parameters(), lr=1e-3)
    for _ in range(3):
        worker.load_state_dict(central.state_dict())
        worker.zero_grad()
        loss_of(worker).backward()
        hand_over(central, worker)
        optimizer.step()  # again


def each_time(central, worker):
    for own, its in zip(central.parameters(), worker.parameters(), strict=True):
        own.grad = its.grad


def once(central, worker):
    for own, its in zip(central.parameters(), worker.parameters(), strict=True):
        if own.grad is None:
            own.grad = its.grad.clone()  # never again


def into_the_same_memory(central, worker):
    for own, its in zip(central.parameters(), worker.parameters(), strict=True):
        if own.grad is None:
            own.grad = torch.empty_like(own)
        own.grad.data.copy_(its.grad)


def test_gradients_handed_over_once():
    """Steps that meet the first gradient again, while backward() gives new ones to another model."""
    finding = diagnosed(
        lambda: workers(once), "AG305", "# never again", "central.0.weight", "worker", severity="warning", where=once
    )
    assert "the same gradient as the previous step" in finding.message
    calm(lambda: workers(each_time), lambda: workers(into_the_same_memory))


def test_head_that_no_loss_reaches_any_more():
    """Its gradient stays where one loss follows another and only the other head is cleared; zero_grad() clears both."""

    def program(cleared):
        body, first, second = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*body.parameters(), *first.parameters(), *second.parameters()], lr=0.1)
        for head in (first, second, second):
            for module in cleared(optimizer, body, second):
                module.zero_grad()
            F.cross_entropy(head(body(X).relu()), Y).backward()
            optimizer.step()  # moves both

    diagnosed(
        lambda: program(lambda optimizer, body, second: (body, second)), "AG305", "# moves both", "first.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(lambda optimizer, body, second: (optimizer,)))


def test_steps_that_repeat_a_gradient_on_purpose():
    """No backward in between: several steps of one gradient, or a constant force."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        loss_of(net).backward()
        for _ in range(3):
            optimizer.step()

    calm(program)


def frozen_for_a_while(net, drop):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(net).backward()
        drop(net, before=True)
        optimizer.step()  # moves it
        drop(net, before=False)


def drop_last(net):
    for p in net[2].parameters():
        p.grad = None


def test_gradients_dropped_after_the_step():
    """What was to stay still has moved by then, and zero_grad() clears its gradient anyway."""
    finding = diagnosed(
        lambda: frozen_for_a_while(network(), lambda net, before: None if before else drop_last(net)),
        "AG305", "# moves it", "net.2.weight", severity="warning", where=frozen_for_a_while,
    )  # fmt: skip
    assert "dropping them changes nothing" in finding.message
    calm(lambda: frozen_for_a_while(network(), lambda net, before: drop_last(net) if before else None))


def test_gradients_dropped_for_other_reasons():
    """All of them, instead of zero_grad(), those of another loss than the stepped one, or of what is frozen then."""

    def by_hand():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss_of(net).backward()
            optimizer.step()
            for p in net.parameters():
                p.grad = None

    def adversary():
        maker, judge = network(), nn.Linear(2, 1)
        own, its = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (maker, judge))
        for _ in range(3):
            trained(own, judge(maker(X)).mean())
            for p in judge.parameters():
                p.grad = None
            trained(its, judge(maker(X).detach()).pow(2).mean())

    def frozen_for_a_stage():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, loss_of(net))
        for p in net[0].parameters():
            p.requires_grad_(False)
            p.grad = None
        trained(torch.optim.SGD(net[2].parameters(), lr=0.1), loss_of(net))
        for p in net[0].parameters():
            p.requires_grad_(True)
        trained(torch.optim.SGD(net.parameters(), lr=0.1), loss_of(net))

    calm(by_hand, adversary, frozen_for_a_stage)


def test_two_steps_for_one_backward():
    """The second applies the same gradients once more; after a backward, or with cleared ones, it does not."""

    def sick():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()
            optimizer.step()  # Second.

    def two_backwards():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()
            optimizer.zero_grad()
            loss_of(net).backward()
            optimizer.step()

    def nothing_to_apply():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.step()
        for _ in range(2):
            trained(optimizer, loss_of(net))
            optimizer.zero_grad()
            optimizer.step()

    def two_optimizers():
        net = network()
        both = torch.optim.Adam(net[0].parameters()), torch.optim.SGD(net[2].parameters(), lr=0.1)
        for _ in range(2):
            for optimizer in both:
                optimizer.zero_grad()
            loss_of(net).backward()
            for optimizer in both:
                optimizer.step()

    diagnosed(sick, "AG305", "# Second.", "step() runs twice", "0.weight", severity="warning")
    calm(two_backwards, nothing_to_apply, two_optimizers)
