"""AG103: Lightning's Trainer runs validate(), test() and predict() under inference mode."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from .programs import diagnosed
from .twins import calm

L = pytest.importorskip("lightning")

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
QUIET = {
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "accelerator": "cpu",
}


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Forces(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)

    def forces(self, pos):
        pos = pos.detach().clone().requires_grad_(True)
        (grad,) = torch.autograd.grad(self.net(pos).pow(2).sum(), pos)
        return -grad

    def validation_step(self, batch, _index):
        with torch.enable_grad():
            self.forces(batch).sum()


class Energies(Forces):
    def validation_step(self, batch, _index):
        return self.net(batch).sum()


def evaluated(trainer, model):
    trainer.validate(model, DataLoader(X, batch_size=2), verbose=False)  # entered


def test_forces_in_validation():
    """The fix is an argument of the Trainer, whose line is shown: here of the function that handed it on."""

    def program():
        trainer = L.Trainer(**QUIET)
        evaluated(trainer, Forces())

    found = diagnosed(program, "AG103", "# entered", "inference_mode=False", severity="error", where=evaluated)
    assert any(place.role == "trainer created here" and "L.Trainer(" in place.source for place in found.locations)


def test_validation_that_is_right():
    """A Trainer without inference mode, and a validation that needs no gradient."""

    def without():
        trainer = L.Trainer(inference_mode=False, **QUIET)
        evaluated(trainer, Forces())

    def no_gradient():
        trainer = L.Trainer(**QUIET)
        evaluated(trainer, Energies())

    calm(without, no_gradient)


def test_inference_mode_of_the_program():
    """Of a block of the program's own, around a Trainer's model, the Trainer is not told to change."""

    def program():
        L.Trainer(**QUIET)
        model = Forces()
        with torch.inference_mode(), torch.enable_grad():  # block
            model.forces(X)

    found = diagnosed(program, "AG103", "# block", "inference_mode", severity="error")
    assert "Trainer" not in found.fix
