"""AG403 where state and values both come from a file, or from copies, and the state goes to other parameters."""

from __future__ import annotations

import copy
import io

import torch
from torch import nn

from .programs import diagnosed, line_of, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def network():
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))


def optimizer_of(net, *, reverse=False, kind=torch.optim.Adam):
    weights = [p for p in net.parameters() if p.dim() > 1]
    if reverse:
        weights.reverse()
    return kind([*weights, *(p for p in net.parameters() if p.dim() == 1)], lr=0.1)


def steps(net, optimizer):
    for _ in range(2):
        trained(optimizer, net(X).pow(2).mean())


def through_a_file(contents):
    file = io.BytesIO()
    torch.save(contents, file)
    file.seek(0)
    return torch.load(file)


def resumed(*, saved=False, loaded=False, model=True, hand_on=through_a_file):
    net = network()
    optimizer = optimizer_of(net, reverse=saved)
    steps(net, optimizer)
    checkpoint = hand_on({"model": net.state_dict(), "optimizer": optimizer.state_dict()})
    again = network()
    if model:
        again.load_state_dict(checkpoint["model"])
    optimizer = optimizer_of(again, reverse=loaded)
    optimizer.load_state_dict(checkpoint["optimizer"])
    steps(again, optimizer)


def test_another_order_in_a_resumed_model():
    """The state of a new model's optimizer comes from a file, and each weight gets that of the other one."""
    finding = diagnosed(
        lambda: resumed(loaded=True), "AG403", "optimizer.load_state_dict", "exp_avg", "0.weight", "2.weight",
        severity="warning", where=resumed,
    )  # fmt: skip
    assert line_of(optimizer_of, "weights.reverse()") in [place.lineno for place in finding.locations]
    calm(resumed)


def test_the_same_other_order_in_both():
    """What was saved in that order is loaded in it."""
    calm(lambda: resumed(saved=True, loaded=True))


def test_another_order_in_copies():
    """What copy.deepcopy() copied is known to be a copy."""
    diagnosed(
        lambda: resumed(saved=True, hand_on=copy.deepcopy), "AG403", "optimizer.load_state_dict", "exp_avg",
        severity="warning", where=resumed,
    )  # fmt: skip
    calm(lambda: resumed(hand_on=copy.deepcopy))


def test_values_of_another_model():
    """Where the weights are not those of the file, nobody knows whose the state should be."""
    calm(lambda: resumed(loaded=True, model=False))


def test_layers_that_change_places():
    """Who puts the layers in another order puts their state in that order too."""

    def program():
        net = network()
        optimizer = optimizer_of(net)
        steps(net, optimizer)
        checkpoint = through_a_file({"model": net.state_dict(), "optimizer": optimizer.state_dict()})
        again = network()
        with torch.no_grad():
            for mine, theirs in (("0", "2"), ("2", "0")):
                again.get_submodule(mine).load_state_dict(
                    {kind: checkpoint["model"][f"{theirs}.{kind}"] for kind in ("weight", "bias")}
                )
        optimizer = torch.optim.Adam([again[2].weight, again[0].weight, again[2].bias, again[0].bias], lr=0.1)
        optimizer.load_state_dict(checkpoint["optimizer"])
        steps(again, optimizer)

    calm(program)


def test_two_models_of_one_kind():
    """Each of two saved models gets its own state back."""

    def program():
        nets = [network(), network()]
        optimizers = [optimizer_of(net) for net in nets]
        for net, optimizer in zip(nets, optimizers, strict=True):
            steps(net, optimizer)
        saved = [
            through_a_file({"model": net.state_dict(), "optimizer": optimizer.state_dict()})
            for net, optimizer in zip(nets, optimizers, strict=True)
        ]
        for checkpoint in reversed(saved):
            again = network()
            again.load_state_dict(checkpoint["model"])
            optimizer = optimizer_of(again)
            optimizer.load_state_dict(checkpoint["optimizer"])
            steps(again, optimizer)

    calm(program)


def test_state_from_an_older_checkpoint():
    """Two files of one model have the same state in them, of two moments."""

    def program():
        net = network()
        optimizer = optimizer_of(net)
        files = []
        for _ in range(3):
            steps(net, optimizer)
            files.append(through_a_file({"model": net.state_dict(), "optimizer": optimizer.state_dict()}))
        again = network()
        again.load_state_dict(files[0]["model"])
        optimizer = optimizer_of(again)
        optimizer.load_state_dict(files[0]["optimizer"])
        steps(again, optimizer)

    calm(program)
