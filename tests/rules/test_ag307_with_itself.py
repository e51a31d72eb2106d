"""AG307: a loss that is given one tensor for two."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm

X = torch.randn(6, 4)


def trained(loss_of):
    student = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (student(X).square().mean() + loss_of(student, teacher)).backward()
        optimizer.step()


def features(models, key):
    """What the first layers return, as hooks keep it."""
    kept = {}
    for name, model in models.items():

        def hook(module, args, output, name=name):
            kept[key(name)] = output

        handle = model[0].register_forward_hook(hook)
        model(X)
        handle.remove()
    return kept


def test_two_hooks_that_store_under_one_key():
    """The teacher's features are compared with themselves; under keys of their own, or with a copy, all is well."""

    def one_key(student, teacher):
        kept = features({"student": student, "teacher": teacher}, lambda name: "layer")
        return F.mse_loss(kept["layer"], kept["layer"].detach())

    def two_keys(student, teacher):
        kept = features({"student": student, "teacher": teacher}, lambda name: name)
        return F.mse_loss(kept["student"], kept["teacher"])

    finding = diagnosed(
        lambda: trained(one_key), "AG307", "F.mse_loss", "teacher.0", "always zero", severity="warning", where=one_key
    )
    stored = [place.source for place in finding.locations if place.role == "stored by the hook here"]
    assert stored == ["kept[key(name)] = output"]
    calm(lambda: trained(two_keys))


def test_hook_that_is_copied_with_the_module():
    """The copy calls the very function that the original has, which keeps what it is given in one place."""
    kept = {}

    def sick():
        student = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        student[0].register_forward_hook(lambda module, args, output: kept.update(out=output))
        teacher = copy.deepcopy(student)  # Copied.
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(2):
            out = student(X)
            with torch.no_grad():
                teacher(X)
            optimizer.zero_grad()
            (out.pow(2).mean() + F.mse_loss(kept["out"], kept["out"])).backward()
            optimizer.step()

    finding = diagnosed(sick, "AG307", "F.mse_loss", "always zero", severity="warning")
    assert [place.lineno for place in finding.locations if "copied" in place.role] == [line_of(sick, "# Copied.")]


def test_comparison_that_is_looked_at_alone():
    """A reconstruction that is checked, or a tensor that was changed in between, is no loss of a tensor and itself."""

    def checked(student, teacher):
        kept = teacher(X)
        F.mse_loss(kept, kept)
        return (student(X) - kept).square().mean()

    def changed(student, teacher):
        noisy = X.clone()
        target = noisy.clone()
        noisy += 0.1
        return F.mse_loss(student[0](noisy), target)

    calm(lambda: trained(checked), lambda: trained(changed))
