"""AG406: what was frozen for the sake of adapters, in an optimizer that is made when these are gone."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


class Stages:
    """Adapters are trained first; ``second`` makes what the second stage trains of the model that has them."""

    def __init__(self):
        peft = pytest.importorskip("peft")
        self.peft = peft
        self.net = nn.Sequential()
        self.net.add_module("body", nn.Linear(4, 4))
        self.net.add_module("act", nn.Tanh())
        self.net.add_module("head", nn.Linear(4, 2))

    def run(self, second):
        config = self.peft.LoraConfig(r=2, target_modules=["body"], modules_to_save=["head"])
        model = self.peft.get_peft_model(self.net, config)
        self.train(model, model.parameters())
        model = second(model)
        self.train(model, model.parameters())

    def train(self, model, parameters):
        optimizer = torch.optim.AdamW(parameters, lr=0.01)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()


def merged(model):
    return model.merge_and_unload()  # The base stays frozen.


def test_a_merged_model_is_trained():
    """The base model is in the optimizer and stays frozen; the call that removed the adapters is named."""
    diagnosed(
        lambda: Stages().run(merged), "AG406", "merge_and_unload", "body", "requires_grad",
        severity="warning", where=merged,
    )  # fmt: skip


def test_the_program_says_what_requires_grad():
    """It thaws the merged model, or says of it what is to learn, be it what it was."""

    def thawed(model):
        return model.merge_and_unload().requires_grad_(True)

    def chosen(model):
        model = model.merge_and_unload()
        for name, p in model.named_parameters():
            p.requires_grad = "head" in name
        return model

    calm(lambda: Stages().run(thawed), lambda: Stages().run(chosen))


def test_adapters_that_are_there():
    """The second stage trains the same adapters, or new ones on the merged model."""

    def same(model):
        return model

    def new(model):
        peft = pytest.importorskip("peft")
        return peft.get_peft_model(model.merge_and_unload(), peft.LoraConfig(r=2, target_modules=["body"]))

    calm(lambda: Stages().run(same), lambda: Stages().run(new))


def test_only_what_learns_is_given():
    """The optimizer of the second stage holds none of the frozen ones."""

    def program():
        stages = Stages()
        config = stages.peft.LoraConfig(r=2, target_modules=["body"], modules_to_save=["head"])
        model = stages.peft.get_peft_model(stages.net, config)
        stages.train(model, [p for p in model.parameters() if p.requires_grad])
        model = model.merge_and_unload()
        stages.train(model, [p for p in model.parameters() if p.requires_grad])

    calm(program)
