"""AG305: gradients that are cleared through other tensors of the same memory."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def looped(clear, *, at="start"):
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        if at == "start" and step:
            clear(net)
        F.mse_loss(net(X), Y).backward()
        if at == "between":
            clear(net)
        optimizer.step()
        if at == "end":
            clear(net)


def through_data(net):
    for p in net.parameters():
        p.grad.data.zero_()


def detached(net):
    for p in net.parameters():
        p.grad.detach().zero_()


def filled(net):
    for p in net.parameters():
        p.grad.data.fill_(0)


def viewed(net):
    for p in net.parameters():
        p.grad.view(-1).zero_()


def one_row(net):
    for p in net.parameters():
        p.grad[:1, ...].detach().zero_()


def test_cleared_through_an_alias():
    """`.grad.data`, `.grad.detach()` and a view of `.grad` are the gradient's own memory: writing it clears it."""
    ways = (through_data, detached, filled, viewed)
    calm(*(lambda way=way, at=at: looped(way, at=at) for way in ways for at in ("start", "end")))


def test_cleared_through_an_alias_too_late():
    """Zeroing an alias between backward and step leaves the step nothing; zeroing a part of it does."""
    for way in (through_data, detached, viewed):
        diagnosed(
            lambda way=way: looped(way, at="between"), "AG305", "zero_()", "weight", "zero_grad",
            severity="warning", where=way,
        )  # fmt: skip

    def part():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            one_row(net)
            optimizer.step()

    calm(part)


def flat_buffer(each_round):
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    flat = torch.zeros(sum(p.numel() for p in net.parameters()))
    parts = flat.split([p.numel() for p in net.parameters()])
    for p, part in zip(net.parameters(), parts, strict=True):
        p.grad = part.view_as(p)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        each_round(flat)
        loss = F.mse_loss(net(X), Y)
        loss.backward()
        flat.mul_(0.5)
        optimizer.step()


def test_gradients_in_one_flat_buffer():
    """Gradients that are views of one buffer are cleared by zeroing the buffer, and add up where nothing does."""
    calm(lambda: flat_buffer(torch.Tensor.zero_))
    diagnosed(
        lambda: flat_buffer(torch.Tensor.size), "AG305", "loss.backward()", "0.weight",
        severity="warning", where=flat_buffer,
    )  # fmt: skip


def test_clipping_what_an_alias_has_cleared():
    """Gradients zeroed through `.data` and then clipped are clipped too early."""

    def early():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            if step:
                through_data(net)
                nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            F.mse_loss(net(X), Y).backward()
            optimizer.step()

    def in_order():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            if step:
                through_data(net)
            F.mse_loss(net(X), Y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            optimizer.step()

    diagnosed(early, "AG305", "clip_grad_norm_", "clip", severity="warning")
    calm(in_order)
