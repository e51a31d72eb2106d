"""AG204: samples that a program keeps, and augments in place whenever they come by."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from .programs import diagnosed, trained
from .twins import calm


def samples(count: int = 4) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.rand(8, 4, generator=generator) + 0.5 for _ in range(count)]


def epochs(augment, take=lambda kept: kept):
    """Three epochs over samples that are kept in a list."""
    kept, net = samples(), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        for i in torch.randperm(len(kept)).tolist():
            trained(optimizer, net(augment(take(kept[i]))).pow(2).mean())


def masked(x):
    at = int(torch.randint(0, 6, ()))
    x[at : at + 2] = 0.0  # Changed.
    return x


def masked_by_a_mask(x):
    return x.masked_fill_(torch.rand(8, 4) < 0.1, 0.0)  # Changed.


def zeroed_slices(x):
    at = int(torch.randint(0, 6, ()))
    x[at : at + 2].zero_()  # Changed.
    return x


def noisy(x):
    return x.add_(0.1 * torch.randn_like(x))  # Changed.


def scaled(x):
    return x.div_(255)  # Changed.


@pytest.mark.parametrize("augment", [masked, masked_by_a_mask, zeroed_slices, noisy, scaled])
def test_kept_samples_are_changed(augment):
    """Masks, noise and scales of all epochs add up in samples that are kept one by one."""
    found = diagnosed(lambda: epochs(augment), "AG204", "# Changed.", "3 iterations", severity="warning", where=augment)
    assert "clone()" in found.fix


@pytest.mark.parametrize("augment", [masked, masked_by_a_mask, zeroed_slices, noisy, scaled])
def test_copies_are_changed(augment):
    """Nothing is said of a copy, nor of fresh batches."""
    calm(lambda: epochs(augment, torch.clone), lambda: epochs(augment, lambda x: x[torch.randperm(8)]))


def test_out_of_place():
    """Nothing is said of new tensors, of dropout, or of numbers that are written to the same places each time."""

    def padded(x):
        x[6:] = 0.0
        return x

    calm(
        lambda: epochs(lambda x: x.masked_fill(torch.rand(8, 4) < 0.1, 0.0)),
        lambda: epochs(nn.functional.dropout),
        lambda: epochs(padded),
        lambda: epochs(lambda x: x.clamp_(0, 1)),
    )


def test_buffers_that_are_filled_again():
    """Nothing is said of two buffers in turn that take in each batch before it is augmented."""

    def program():
        kept, buffers, net = samples(), [torch.empty(8, 4), torch.empty(8, 4)], nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            for i, x in enumerate(kept):
                buffers[i % 2].copy_(x)
                trained(optimizer, net(noisy(buffers[i % 2])).pow(2).mean())

    calm(program)


def test_states_of_environments():
    """Nothing is said of environments that step in turn: what a policy did, or their own speed, moves them."""

    def program():
        policy = nn.Linear(2, 3)
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
        states, speeds = [torch.randn(2) for _ in range(2)], [torch.randn(2) for _ in range(2)]
        for _ in range(3):
            for state, speed in zip(states, speeds, strict=True):
                logits = policy(state.clone())
                action = int(torch.multinomial(logits.softmax(-1), 1))
                trained(optimizer, -logits.log_softmax(-1)[action])
                speed.add_(0.1 * (action - 1))
                state.add_(speed).add_(0.01 * torch.randn(2))

    calm(program)


def test_momentum_by_hand():
    """Nothing is said of the state of an update by hand, nor of traces that begin with zeros."""

    def program():
        net = nn.Linear(4, 1)
        moments: dict[nn.Parameter, Tensor] = {}
        for x in samples() * 2:
            net.zero_grad()
            net(x).pow(2).mean().backward()
            with torch.no_grad():
                for p in net.parameters():
                    moment = moments.setdefault(p, p.grad.clone())
                    moment.mul_(0.9)
                    moment.add_(p.grad).div_(2)
                    p.sub_(0.1 * moment)

    calm(program)


def test_chains_that_sample_a_model():
    """Nothing is said of chains that noisy gradient steps of a model move on from where they were."""

    def program():
        net = nn.Linear(4, 1)
        optimizer, chains = torch.optim.SGD(net.parameters(), lr=0.01), samples(2)
        for _ in range(3):
            for chain in chains:
                x = chain.clone().requires_grad_()
                (slope,) = torch.autograd.grad(net(x).sum(), x)
                chain.sub_(0.1 * slope).add_(0.01 * torch.randn_like(chain))
                trained(optimizer, net(chain).mean())

    calm(program)


def test_attacks_on_one_batch():
    """Nothing is said of several noisy steps on a batch before the next one comes, in one epoch."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for x in samples():
            for _ in range(3):
                trained(optimizer, net(noisy(x)).pow(2).mean())

    calm(program)


def batches(augment, take=lambda whole, at: whole[at : at + 8]):
    """Three epochs over batches of one large tensor."""
    whole, net = torch.cat(samples()), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        for at in range(0, len(whole), 8):
            trained(optimizer, net(augment(take(whole, at))).pow(2).mean())


def masked_column(x):
    x[:, int(torch.randint(0, 4, ()))] = 0.0  # Changed.
    return x


@pytest.mark.parametrize("augment", [masked, masked_column])
def test_batches_that_are_parts_of_the_data_are_changed(augment):
    """Places of a view of the data set are overwritten: other ones in each epoch."""
    found = diagnosed(
        lambda: batches(augment), "AG204", "# Changed.", "3 iterations", severity="warning", where=augment
    )
    assert "4 parts of one tensor" in found.message


def test_batches_that_are_copies_or_memories():
    """Nothing is said of batches that an index copies, of fixed places, and of a memory that takes in new samples."""

    def memory():
        kept, net = torch.cat(samples()), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            for at in range(0, len(kept), 8):
                kept[at : at + 8] = torch.randn(8, 4)
                trained(optimizer, net(masked(kept[at : at + 8])).pow(2).mean())

    def padded(x):
        x[6:] = 0.0
        return x

    calm(
        lambda: batches(masked, lambda whole, at: whole[torch.arange(at, at + 8)]),
        lambda: batches(padded),
        memory,
    )
