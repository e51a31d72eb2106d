"""AG305: weights that are moved for a second backward, and do not return to where they were."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4)


class Perturbed:
    """Sharpness-aware steps: along the gradients, and back before the step."""

    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.moves, self.old = [], []

    def loss(self):
        return self.net(X).square().mean()

    def directions(self):
        norm = torch.stack([p.grad.norm() for p in self.net.parameters()]).norm()
        return [0.05 * p.grad / (norm + 1e-12) for p in self.net.parameters()]

    def run(self, back):
        for _ in range(3):
            self.loss().backward()
            with torch.no_grad():
                self.moves = self.directions()
                self.old = [p.clone() for p in self.net.parameters()]
                for p, move in zip(self.net.parameters(), self.moves, strict=True):
                    p.add_(move)
            self.optimizer.zero_grad()
            self.loss().backward()
            with torch.no_grad():
                back(self)
            self.optimizer.step()
            self.optimizer.zero_grad()


def test_moved_back_along_the_new_gradients():
    """What was added is taken back, or a copy of the weights put back; computed again it is another value."""

    def computed_again(sam):
        for p, move in zip(sam.net.parameters(), sam.directions(), strict=True):
            p.sub_(move)

    def written_out(sam):
        norm = torch.stack([p.grad.norm() for p in sam.net.parameters()]).norm()
        for p in sam.net.parameters():
            p.sub_(0.05 * p.grad / (norm + 1e-12))

    def the_same(sam):
        for p, move in zip(sam.net.parameters(), sam.moves, strict=True):
            p.sub_(move)

    def restored(sam):
        for p, old in zip(sam.net.parameters(), sam.old, strict=True):
            p.copy_(old)

    for back in (computed_again, written_out):
        diagnosed(
            lambda back=back: Perturbed().run(back), "AG305", "p.sub_(", "net.weight", "do not return",
            severity="warning", where=back,
        )  # fmt: skip
    calm(lambda: Perturbed().run(the_same), lambda: Perturbed().run(restored))


def test_steps_by_hand():
    """Two updates with gradients of their own, one up and one down, are no move and its return."""

    def program():
        net = nn.Linear(4, 2)
        for k in range(4):
            net.zero_grad()
            net(X).square().mean().backward()
            with torch.no_grad():
                for p in net.parameters():
                    p.add_(0.1 * p.grad) if k % 2 else p.sub_(0.1 * p.grad)

    calm(program)
