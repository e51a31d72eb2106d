"""AG205: weights that are loaded under master copies of the weights of before."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


class Masters:
    """Steps copies of the weights, and writes them back."""

    def __init__(self, net):
        self.weights = list(net.parameters())
        self.copies = [p.detach().double().clone().requires_grad_(True) for p in self.weights]
        self.adam = torch.optim.Adam(self.copies, lr=0.1)

    @torch.no_grad()
    def refresh(self):
        for copy, weight in zip(self.copies, self.weights, strict=True):
            copy.copy_(weight)

    @torch.no_grad()
    def step(self):
        for copy, weight in zip(self.copies, self.weights, strict=True):
            copy.grad = weight.grad.double()
        self.adam.step()
        for copy, weight in zip(self.copies, self.weights, strict=True):
            weight.copy_(copy)
            weight.grad = None


def pretrained():
    return {name: tensor.detach().clone() for name, tensor in nn.Linear(4, 2).state_dict().items()}


def learnt(net, masters):
    for _ in range(2):
        net(torch.randn(8, 4)).square().mean().backward()
        masters.step()


def test_a_checkpoint_loaded_behind_the_copies():
    """The first step writes the random copies over what was loaded; loaded before, or copied into them, it stays."""

    def late():
        state, net = pretrained(), nn.Linear(4, 2)
        masters = Masters(net)
        net.load_state_dict(state)  # Loaded.
        learnt(net, masters)

    def early():
        state, net = pretrained(), nn.Linear(4, 2)
        net.load_state_dict(state)
        learnt(net, Masters(net))

    def refreshed():
        state, net = pretrained(), nn.Linear(4, 2)
        masters = Masters(net)
        net.load_state_dict(state)
        masters.refresh()
        learnt(net, masters)

    diagnosed(late, "AG205", "# Loaded.", "weight", "load_state_dict", severity="warning")
    calm(early, refreshed)


def test_a_checkpoint_loaded_to_be_looked_at():
    """What is only evaluated, and replaced by the weights in training before the next loss, is not lost."""

    def compared():
        state, net = pretrained(), nn.Linear(4, 2)
        masters = Masters(net)
        learnt(net, masters)
        own = {name: tensor.clone() for name, tensor in net.state_dict().items()}
        net.load_state_dict(state)
        with torch.no_grad():
            net(torch.randn(8, 4)).square().mean().item()
        net.load_state_dict(own)
        learnt(net, masters)

    calm(compared)


def test_weights_loaded_from_themselves():
    """A state that was taken from the model, and is loaded again at once, changes nothing."""

    def again():
        net = nn.Linear(4, 2)
        masters = Masters(net)
        net.load_state_dict({name: tensor.clone() for name, tensor in net.state_dict().items()})
        learnt(net, masters)

    calm(again)
