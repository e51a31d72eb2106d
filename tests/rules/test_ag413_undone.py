"""AG413: updates that are taken back behind the step, dropped in part, or driven by groups that nothing reads."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def test_perturbation_taken_back_behind_the_step():
    """What was saved before the attack overwrites the update, unless it is restored before the step."""

    def program(*, late):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            F.cross_entropy(net(X), Y).backward()
            weight = net[0].weight
            saved = weight.data.clone()
            weight.data.add_(0.1 * weight.grad.sign())
            F.cross_entropy(net(X), Y).backward()
            if not late:
                weight.data.copy_(saved)
            optimizer.step()
            if late:
                weight.data.copy_(saved)  # too late
            optimizer.zero_grad()

    diagnosed(lambda: program(late=True), "AG413", "# too late", "0.weight", severity="warning", where=program)
    calm(lambda: program(late=False))


def test_steps_that_are_tried_and_taken_back():
    """Who restores all parameters, or has perturbed none, undoes the step on purpose."""

    def program(every):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            saved = [p.detach().clone() for p in net.parameters()]
            trained(optimizer, F.cross_entropy(net(X), Y))
            with torch.no_grad():
                for p, old in zip(list(net.parameters())[every], saved[every], strict=True):
                    p.copy_(old)
            trained(optimizer, F.cross_entropy(net(X[:4]), Y[:4]))

    calm(lambda: program(slice(None)), lambda: program(slice(1)))


class Orthogonal(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    def flat(self, p):
        return p.reshape(len(p), -1)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                update = p.grad.reshape(len(p), -1)
                self.flat(p).add_(update / update.norm(), alpha=-group["lr"])  # into a copy


class Viewed(Orthogonal):
    def flat(self, p):
        return p.view(len(p), -1) if p.is_contiguous() else p.permute(0, 2, 3, 1).view(len(p), -1)


def test_update_of_a_copy():
    """reshape() copies what does not lie in a row: of two parameters the one is moved, and the other is named."""

    def program(kind):
        net = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.Flatten(), nn.Linear(12, 2, bias=False))
        net[0].to(memory_format=torch.channels_last)
        optimizer = kind(net.parameters())
        for _ in range(3):
            trained(optimizer, net(torch.randn(4, 2, 4, 4)).pow(2).mean())

    diagnosed(
        lambda: program(Orthogonal), "AG413", "# into a copy", "0.weight", severity="warning", where=Orthogonal.step
    )
    calm(lambda: program(Viewed))


class Wrapper(torch.optim.Optimizer):
    """Shares its groups with the optimizer that it wraps."""

    def __init__(self, inner, *, again):
        self.inner, self.again = inner, again
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
        self.share()

    def share(self):
        self.param_groups, self.state, self.defaults = self.inner.param_groups, self.inner.state, self.inner.defaults

    def load_state_dict(self, state):
        self.inner.load_state_dict(state)  # parts them
        if self.again:
            self.share()

    def step(self, closure=None):
        return self.inner.step(closure)


def test_scheduler_of_a_wrapper_whose_groups_are_no_longer_shared():
    """A load gives the inner optimizer new groups; shared again, they follow the schedule."""

    def program(*, again):
        net = network()
        optimizer = Wrapper(torch.optim.SGD(net.parameters(), lr=0.1), again=again)
        optimizer.load_state_dict(torch.optim.SGD(network().parameters(), lr=0.1).state_dict())
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            net.zero_grad()
            F.cross_entropy(net(X), Y).backward()
            optimizer.step()
            scheduler.step()

    diagnosed(
        lambda: program(again=False), "AG413", "# parts them", "param_groups", "Wrapper", severity="warning",
        where=Wrapper.load_state_dict,
    )  # fmt: skip
    calm(lambda: program(again=True))
