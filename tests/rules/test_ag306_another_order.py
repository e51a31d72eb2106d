"""AG306: a flat gradient is taken apart in another order than it was put together in."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def flattened(parameters):
    return torch.cat([torch.zeros_like(p).flatten() if p.grad is None else p.grad.reshape(-1) for p in parameters])


def assigned(flat, parameters, *, copies=False):
    offset = 0
    for p in parameters:
        part = flat[offset : offset + p.numel()].view_as(p)
        if copies:
            p.grad.copy_(part)
        else:
            p.grad = part.clone()
        offset += p.numel()


def split(flat, parameters):
    for p, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        p.grad = part.view_as(p).clone()


def merged(flats):
    out = torch.zeros_like(flats[0])
    out[:] = torch.stack(flats).mean(0)
    return out


def program(back=lambda parameters: parameters, put=assigned, merge=merged):
    """Two losses, of which each gives one flat gradient."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    parameters = list(net.parameters())
    for _ in range(2):
        flats = []
        for target in (0.0, 1.0):
            optimizer.zero_grad()
            (net(X) - target).square().mean().backward()
            flats.append(flattened(parameters))
        put(merge(flats), back(parameters))
        optimizer.step()


@pytest.mark.parametrize(
    ("put", "line"),
    [
        (assigned, "p.grad = part.clone()"),
        (lambda flat, parameters: assigned(flat, parameters, copies=True), "p.grad.copy_(part)"),
        (split, "p.grad = part.view_as(p).clone()"),
    ],
)
def test_written_back_in_another_order(put, line):
    """Equal shapes or not: each stretch of the flat tensor belongs to one parameter."""
    where = split if put is split else assigned
    for back in (lambda parameters: parameters[::-1], lambda p: [p[2], p[1], p[0], *p[3:]]):
        diagnosed(
            lambda back=back: program(back, put),
            "AG306",
            line,
            "weight",
            "another order",
            severity="error",
            where=where,
        )
    calm(lambda: program(put=put))


def test_parts_found_by_their_places():
    """The order of the loop is no matter where each part is looked up."""

    def put(flat, parameters):
        places, offset = {}, 0
        for p in parameters:
            places[p] = offset
            offset += p.numel()
        for p in reversed(parameters):
            p.grad = flat[places[p] : places[p] + p.numel()].view_as(p).clone()

    calm(lambda: program(put=put))


def test_some_of_the_parameters():
    """A flat tensor that is read in other stretches is no list of parameters."""

    def put(flat, parameters):
        parameters[0].grad = flat[16:32].view_as(parameters[0]).clone()
        parameters[1].grad = flat[:4].clone()

    calm(lambda: program(put=put))


def test_one_loss():
    """The flat gradient itself, clipped."""
    calm(lambda: program(merge=lambda flats: flats[-1] / flats[-1].norm().clamp(min=1.0)))
    diagnosed(
        lambda: program(lambda parameters: parameters[::-1], merge=lambda flats: flats[-1] / flats[-1].norm()),
        "AG306", "p.grad = part.clone()", "another order", severity="error", where=assigned,
    )  # fmt: skip
