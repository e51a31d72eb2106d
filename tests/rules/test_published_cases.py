"""Silent errors that were published, rebuilt small: each is told with its line."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm


def frozen_but_norms(*, unfreeze_head):
    """A classifier is fine-tuned: all but the norms is frozen, and the optimizer holds the head alone."""
    layers = {"conv": nn.Conv2d(3, 4, 3), "bn0": nn.BatchNorm2d(4), "pool": nn.AdaptiveAvgPool2d(1)}
    model = nn.Sequential()
    for name, layer in (layers | {"flat": nn.Flatten(), "fc": nn.Linear(4, 5)}).items():
        model.add_module(name, layer)
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.01)  # The head alone.
    for name, parameter in model.named_parameters():
        if unfreeze_head or "bn" not in name:
            parameter.requires_grad = False
    for parameter in model.fc.parameters():
        parameter.requires_grad = unfreeze_head
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.randint(5, (4,))).backward()
        optimizer.step()


def test_a_frozen_head_is_all_that_the_optimizer_holds():
    """discuss.pytorch.org 84911: what gets gradients is in no optimizer."""
    diagnosed(
        lambda: frozen_but_norms(unfreeze_head=False), "AG404", "The head alone.", "bn0.weight",
        severity="warning", where=frozen_but_norms,
    )  # fmt: skip
    calm(lambda: frozen_but_norms(unfreeze_head=True))


def never_cleared(*, clear):
    """A loop over epochs and batches of digits."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(2):
        model.train()
        for _ in range(3):
            if clear:
                optimizer.zero_grad()
            loss = criterion(model(torch.randn(5, 1, 4, 4)), torch.randint(3, (5,)))
            loss.backward()  # Adds up.
            optimizer.step()


def test_gradients_are_never_cleared():
    """stackoverflow.com 60335387."""
    diagnosed(
        lambda: never_cleared(clear=False), "AG305", "Adds up.", "add up",
        severity="warning", where=never_cleared,
    )  # fmt: skip
    calm(lambda: never_cleared(clear=True))


class Specialised(torch.optim.SGD):
    """Its step is made for the gradients of the first call, as compiled code without a guard on them was."""

    plan = None

    @torch.no_grad()
    def step(self, closure=None):
        parameters = self.param_groups[0]["params"]
        if self.plan is None or any(p.grad is None for p in parameters):
            self.plan = [p for p in parameters if p.grad is not None]
        for p in self.plan:
            p.add_(p.grad, alpha=-self.param_groups[0]["lr"])


def one_step_without_gradients(kind):
    """The second of six steps has no gradients."""
    model = nn.Linear(1, 1)
    optimizer = kind(model.parameters(), lr=0.1)
    for at in range(6):
        optimizer.zero_grad()
        if at != 1:
            model(torch.ones(1, 1)).sum().backward()
        optimizer.step()  # Moves nothing.


def test_an_optimizer_stops_moving_when_gradients_were_none():
    """pytorch#115607: compiled steps stay as they were made for no gradients. torch has mended that since."""
    diagnosed(
        lambda: one_step_without_gradients(Specialised), "AG413", "Moves nothing.", "weight", "none of its last 4",
        severity="warning", where=one_step_without_gradients,
    )  # fmt: skip
    calm(lambda: one_step_without_gradients(torch.optim.SGD))


class EveryThird(torch.optim.SGD):
    """It moves its parameters in every third call."""

    calls = 0

    def step(self, closure=None):
        self.calls += 1
        if self.calls % 3 == 0:
            super().step(closure)


def test_an_optimizer_that_moves_every_few_steps():
    """As many steps as between two moves may stay without one."""
    calm(lambda: one_step_without_gradients(EveryThird))


def test_an_optimizer_that_has_arrived():
    """LBFGS computes the loss itself and stays where it is once the gradient is small enough."""

    def fitted():
        torch.manual_seed(0)
        x, net = torch.randn(20, 3), nn.Linear(3, 1)
        y = x.sum(1, keepdim=True)
        optimizer = torch.optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            return loss

        for _ in range(6):
            optimizer.step(closure)

    calm(fitted)


class Waiting(torch.optim.SGD):
    """It moves nothing while the gradients are small, or much larger than they were."""

    usual = None

    @torch.no_grad()
    def step(self, closure=None):
        parameters = self.param_groups[0]["params"]
        size = max(float(p.grad.abs().max()) for p in parameters)
        self.usual = self.usual or size
        if 0.1 < size / self.usual < 10:
            for p in parameters:
                p.add_(p.grad, alpha=-self.param_groups[0]["lr"])


def test_an_optimizer_that_waits_while_it_has_gradients():
    """It has converged, or it skips a series of spikes: no step before was without gradients."""

    def trained_with(scale):
        model = nn.Linear(1, 1)
        optimizer = Waiting(model.parameters(), lr=0.1)
        for at in range(6):
            optimizer.zero_grad()
            (model(torch.ones(1, 1)).sum() * (scale if at > 1 else 1)).backward()
            optimizer.step()

    calm(lambda: trained_with(1e-3), lambda: trained_with(1e3))
