"""AG306: forward hooks on modules that are not called."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    def __init__(self, through, register):
        super().__init__()
        self.through, self.activity = through, []
        self.encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4))
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.head = nn.Linear(4, 1)
        register(self)

    def collect(self, module, args, output):
        self.activity.append(output.abs().mean())

    def forward(self, x):
        return self.head(self.through(self, x))


def training(through, register, *parts):
    """Three steps of a net's ``parts``: ``register`` hooks it, and ``through`` computes its hidden layer."""

    def run():
        net = Net(through, register)
        trained = [net.head, *(net.get_submodule(part) for part in parts)]
        optimizer = torch.optim.SGD([p for part in trained for p in part.parameters()], lr=0.1)
        for _ in range(3):
            loss = net(X).pow(2).mean() + sum(net.activity)
            net.activity.clear()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return run


def on_encoder(net):
    net.encoder.register_forward_hook(net.collect)


def on_layers(net):
    for layer in net.layers:
        layer.register_forward_hook(net.collect)


def on_list(net):
    net.layers.register_forward_hook(net.collect)


def on_all(net):
    for module in net.modules():
        module.register_forward_hook(net.collect)


def by_forward(net, x):
    return net.encoder.forward(x)


def by_children(net, x):
    for layer in net.encoder:
        x = layer(x)
    return x


def by_list(net, x):
    for layer in net.layers:
        x = layer(x)
    return x


def by_functions(net, x):
    for layer in net.layers:
        x = F.linear(x, layer.weight, layer.bias)
    return x


def by_call(net, x):
    return by_list(net, net.encoder(x))


def by_first(net, x):
    return net.encoder[0](x)[:, :4]


def by_penalty(net, x):
    return x + sum(layer.weight.pow(2).sum() + layer.bias.pow(2).sum() for layer in net.layers)


def test_not_called():
    """``forward()``, the children one by one, those of a list, and a function that is given the weights."""
    told = (
        (by_forward, on_encoder, "encoder", "net.encoder.forward(x)"),
        (by_children, on_encoder, "encoder", "x = layer(x)"),
        (by_list, on_list, "layers", "x = layer(x)"),
        (by_functions, on_layers, "layers", "F.linear"),
    )
    for through, register, part, line in told:
        program = training(through, register, part)
        finding = diagnosed(program, "AG306", line, "collect", severity="warning", where=through)
        registered = line_of(register, ".register_forward_hook(net.collect)")
        assert registered in [location.lineno for location in finding.locations]


def test_called():
    """Hooks on modules that are called, in a model that has others which are not; parts and weights used otherwise."""
    calm(
        training(by_call, on_encoder, "encoder", "layers"),
        training(by_list, on_layers, "layers"),
        training(by_list, on_all, "layers"),
        training(by_first, on_encoder, "encoder.0"),
        training(by_penalty, on_layers, "layers"),
        training(by_list, on_encoder, "layers"),
    )
