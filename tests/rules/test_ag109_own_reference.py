"""AG109: a policy that is compared with itself."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

DATA = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


def policy():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def log_probs(model, x):
    return model(x).log_softmax(-1)[:, 0]


def tuned(loss_of, reference=lambda model: model, *, updates=1):
    """Each batch is scored by the reference first, then by the policy in each update."""
    model = policy()
    old = reference(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in DATA:
        with torch.no_grad():  # Reference.
            before = log_probs(old, x) - log_probs(old, -x)
        for _ in range(updates):
            now = log_probs(model, x) - log_probs(model, -x)
            optimizer.zero_grad()
            loss_of(now - before, x).backward()
            optimizer.step()


def preferred(gain, x):
    return -F.logsigmoid(0.5 * gain).mean()


def squared(gain, x):
    return (gain - 1.0).square().mean()


def frozen(model):
    return copy.deepcopy(model).requires_grad_(False)


def test_policy_that_is_its_own_reference():
    """The block that computes the reference comes first; a copy that stays behind is a reference."""
    for loss_of in (preferred, squared):
        found = diagnosed(
            lambda loss_of=loss_of: tuned(loss_of), "AG109", "# Reference.", "its own reference", severity="warning",
            where=tuned,
        )  # fmt: skip
        assert "requires_grad_(False)" in found.fix
        assert "disable_adapter" not in found.fix, "nothing of the model is frozen"
        calm(lambda loss_of=loss_of: tuned(loss_of, lambda model: nn.Sequential(*frozen(model), nn.Tanh())))


def test_old_policies():
    """The ratio to the old policy weighs an advantage, and several updates leave the old policy behind."""

    def weighted(gain, x):
        return -(gain.exp() * x[:, 0]).mean()

    def clipped(gain, x):
        ratio = gain.exp()
        return -torch.min(ratio * x[:, 0], ratio.clamp(0.8, 1.2) * x[:, 0]).mean()

    def penalised(gain, x):
        return weighted(gain, x) + 0.1 * (gain.exp() - 1 - gain).mean()

    def baseline(gain, x):
        return -gain.mean()

    calm(
        *(lambda loss_of=loss_of: tuned(loss_of) for loss_of in (weighted, clipped, penalised, baseline)),
        lambda: tuned(preferred, updates=2),
    )
