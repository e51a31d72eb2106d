"""Where trainers put the model and the optimizer."""

from __future__ import annotations

import pytest
import torch

from autograd_inspector import inspect_checkpoint

from .programs import adam, network, saved, sound

PARTS = saved()


@pytest.mark.parametrize(
    ("checkpoint", "model", "optimizer"),
    [
        ({"model": PARTS["model"], "optimizer": PARTS["optimizer"]}, ("model",), ("optimizer",)),
        (
            {"model_state_dict": PARTS["model"], "optimizer_state_dict": PARTS["optimizer"], "loss": 0.1},
            ("model_state_dict",),
            ("optimizer_state_dict",),
        ),
        (
            {
                "epoch": 1,
                "state_dict": PARTS["model"],
                "optimizer_states": [PARTS["optimizer"]],
                "lr_schedulers": [{"base_lrs": [1]}],
                "callbacks": {"best": {"score": torch.tensor(1.0)}},
            },
            ("state_dict",),
            ("optimizer_states", 0),
        ),
        ({"module": PARTS["model"], "optim": PARTS["optimizer"]}, ("module",), ("optim",)),
        (
            {"state": {"model": PARTS["model"], "optimizers": {"Adam": PARTS["optimizer"]}}},
            ("state", "model"),
            ("state", "optimizers", "Adam"),
        ),
        (PARTS["model"], (), None),
        (PARTS["optimizer"], None, ()),
    ],
    ids=["short", "tutorial", "lightning", "deepspeed", "nested", "model", "optimizer"],
)
def test_common_layouts(checkpoint, model, optimizer):
    """The state_dicts are found where they are, and fit."""
    found = inspect_checkpoint(checkpoint).capture.checkpoint
    assert [m.path for m in found.models] == ([] if model is None else [model])
    assert [o.path for o in found.optimizers] == ([] if optimizer is None else [optimizer])
    net = network()
    sound(
        checkpoint,
        net if model is not None or optimizer is not None else None,
        adam(net) if optimizer is not None else None,
    )


def test_the_model_that_fits_is_meant():
    """Of a generator and a discriminator, of weights and their average, the one that fits best is compared."""
    generator, critic = network(6), network(9)
    checkpoint = {
        "generator": generator.state_dict(),
        "critic": critic.state_dict(),
        "generator_optimizer": saved(generator)["optimizer"],
        "critic_optimizer": saved(critic)["optimizer"],
    }
    net = network(9)
    sound(checkpoint, net, adam(net))
    net = network(6)
    sound(checkpoint, net, adam(net))


def test_a_file_of_a_model_alone_is_told():
    """Without a model to compare with, what it holds is in the text."""
    text = inspect_checkpoint(PARTS).to_text()
    assert "0.weight" in text
    assert 'state["optimizer"]: state of 4 parameters' in text
