"""AG404: copies of a model's parameters are stepped, and the model never gets their values."""

from __future__ import annotations

import io

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def run(back, *, steps=3):
    """Master weights in float64 of a model in float32."""
    model = nn.Linear(4, 2)
    master = [p.detach().double().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.SGD(master, lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        model.zero_grad()
        loss.backward()
        for m, p in zip(master, model.parameters(), strict=True):
            m.grad = p.grad.double()
        optimizer.step()
        back(master, model)


def copied(master, model):
    with torch.no_grad():
        for m, p in zip(master, model.parameters(), strict=True):
            p.copy_(m)


def assigned(master, model):
    for m, p in zip(master, model.parameters(), strict=True):
        p.data = m.data.float()


def loaded(master, model):
    model.load_state_dict({"weight": master[0], "bias": master[1]})


def test_nothing_copies_the_weights_back():
    """The step that moves the copies alone is pointed at."""
    diagnosed(
        lambda: run(lambda master, model: None),
        "AG404",
        "optimizer.step()",
        "model.weight",
        severity="warning",
        where=run,
    )


def test_weights_that_go_back_are_silent():
    """Copied, assigned or loaded after each step; or after the only one, outside of what was seen."""
    once = lambda: run(lambda master, model: None, steps=1)  # noqa: E731 - as those beside it
    calm(lambda: run(copied), lambda: run(assigned), lambda: run(loaded), once)


def test_copies_that_the_program_reads_are_silent():
    """The copies are what is trained: they are evaluated, or saved, and the model only gives the gradients."""

    def evaluated(master, model):
        weight, bias = (m.detach().float() for m in master)
        nn.functional.linear(torch.randn(8, 4), weight, bias)

    def saved(master, model):
        torch.save(master, io.BytesIO())

    calm(lambda: run(evaluated), lambda: run(saved))


def in_place(back, *, steps=3):
    """The masters keep their gradients, and each backward's are copied into these."""
    model = nn.Linear(4, 2)
    master = [p.detach().double().requires_grad_() for p in model.parameters()]
    for m in master:
        m.grad = torch.zeros_like(m)
    optimizer = torch.optim.SGD(master, lr=0.1)
    for _ in range(steps):
        model.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        for m, p in zip(master, model.parameters(), strict=True):
            m.grad.data.copy_(p.grad.data)
        optimizer.step()  # In place.
        back(master, model)


def test_gradients_that_are_copied_in_place():
    """The copies keep the memory of their gradients; nothing else tells that they belong to the model's parameters."""
    diagnosed(
        lambda: in_place(lambda master, model: None),
        "AG404",
        "# In place.",
        "model.weight",
        severity="warning",
        where=in_place,
    )
    calm(lambda: in_place(copied), lambda: in_place(assigned), lambda: in_place(loaded))
