"""AG409: a run is resumed with the optimizer's state, and its schedule begins anew."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, OneCycleLR, ReduceLROnPlateau, SequentialLR, StepLR

from .programs import diagnosed, inspected, line_of, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def warmed_up(optimizer):
    return SequentialLR(optimizer, [LinearLR(optimizer, 0.1, 1.0, 2), CosineAnnealingLR(optimizer, 8)], milestones=[2])


def built(kind=warmed_up):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    return net, optimizer, kind(optimizer)


def epochs(net, optimizer, schedule, count):
    for _ in range(count):
        trained(optimizer, net(X).pow(2).mean())
        schedule.step(1.0) if isinstance(schedule, ReduceLROnPlateau) else schedule.step()


def checkpoint(kind=warmed_up, *, trained_for=3, saves=True):
    net, optimizer, schedule = built(kind)
    epochs(net, optimizer, schedule, trained_for)
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
    if saves:
        state["schedule"] = schedule.state_dict()
    return copy.deepcopy(state)


def resume(kind=warmed_up, *, loads=False, catches_up=False, saves=True, trained_for=3, optimizer_too=True):
    saved = checkpoint(kind, trained_for=trained_for, saves=saves)
    net, optimizer, schedule = built(kind)
    net.load_state_dict(saved["net"])
    if optimizer_too:
        optimizer.load_state_dict(saved["optimizer"])
    if loads:
        schedule.load_state_dict(saved["schedule"])
    if catches_up:
        for _ in range(3):
            schedule.step()
    epochs(net, optimizer, schedule, 2)


def test_a_schedule_that_was_saved_and_is_not_loaded():
    """Whatever its kind: the optimizer goes on, and its learning rate begins anew."""
    for kind, name in (
        (warmed_up, "SequentialLR"),
        (lambda o: StepLR(o, 2), "StepLR"),
        (lambda o: OneCycleLR(o, 0.1, 10), "OneCycleLR"),
    ):
        diagnosed(
            lambda kind=kind: resume(kind), "AG409", 'optimizer.load_state_dict(saved["optimizer"])',
            f"the state of {name} was saved beside it", "scheduler.load_state_dict(...)",
            severity="warning", where=resume,
        )  # fmt: skip


def test_a_checkpoint_from_a_file():
    """Whether there was a schedule's state in it is not known: a hint."""
    saved = checkpoint()

    def program():
        net, optimizer, schedule = built()
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        epochs(net, optimizer, schedule, 2)

    (finding,) = [found for found in inspected(program).findings if found.rule == "AG409"]
    assert finding.severity == "info"
    assert "the state of CosineAnnealingLR is not loaded" in finding.message
    assert finding.locations[0].lineno == line_of(program, 'optimizer.load_state_dict(saved["optimizer"])')


def test_a_schedule_that_goes_on():
    """Its state is loaded, it is stepped to where it was, or it is told the epoch."""

    def told():
        saved = checkpoint(lambda o: StepLR(o, 2))
        net, optimizer, _ = built(lambda o: None)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        epochs(net, optimizer, StepLR(optimizer, 2, last_epoch=3), 2)

    calm(lambda: resume(loads=True), lambda: resume(catches_up=True))
    calm(told, lambda: resume(ReduceLROnPlateau, loads=True))


def test_nothing_to_go_on_with():
    """Weights alone are the beginning of another training; so is what was saved before the first step."""
    calm(lambda: resume(optimizer_too=False), lambda: resume(trained_for=0))


def test_a_rollback_under_one_schedule():
    """The schedule counts epochs on, whatever was taken back."""

    def program():
        net, optimizer, schedule = built()
        epochs(net, optimizer, schedule, 2)
        weights, state = copy.deepcopy(net.state_dict()), copy.deepcopy(optimizer.state_dict())
        schedule.state_dict()
        epochs(net, optimizer, schedule, 2)
        net.load_state_dict(weights)
        optimizer.load_state_dict(state)
        epochs(net, optimizer, schedule, 2)

    assert not [finding for finding in inspected(program).findings if "schedule starts again" in finding.message]
