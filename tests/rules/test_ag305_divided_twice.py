"""AG305: a loss that the program divides by the micro-batches of an accumulation, as a library does."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm

STEPS = 4


def _accelerated(loss_of, rows=2, steps=STEPS):
    accelerate = pytest.importorskip("accelerate")
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=steps)
    net = nn.Linear(3, 1)
    net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for _ in range(2 * STEPS):
        with accelerator.accumulate(net):
            accelerator.backward(loss_of(net(torch.randn(rows, 3)), accelerator))
            optimizer.step()
            optimizer.zero_grad()


def by_hand(output, accelerator):
    return output.square().mean() / accelerator.gradient_accumulation_steps


def test_divided_by_hand_and_by_accelerate():
    """The program's division is named, with the library's function that divides as well."""
    diagnosed(
        lambda: _accelerated(by_hand), "AG305", "/ accelerator", "Accelerator.backward", "loss",
        severity="warning", where=by_hand,
    )  # fmt: skip


def test_divided_in_place():
    """`loss /= steps`, and a product with the inverse."""

    def in_place(output, accelerator):
        loss = output.square().mean()
        loss /= accelerator.gradient_accumulation_steps
        return loss

    def inverse(output, accelerator):
        return output.square().mean() * (1 / accelerator.gradient_accumulation_steps)

    for loss_of, line in ((in_place, "loss /="), (inverse, "1 / accelerator")):
        diagnosed(lambda given=loss_of: _accelerated(given), "AG305", line, severity="warning", where=loss_of)


def test_divided_by_hand_and_by_lightning():
    """Automatic optimisation divides what training_step() returns."""
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 1)

        def training_step(self, batch, _):
            loss = self.net(batch).square().mean()
            return loss / self.trainer.accumulate_grad_batches

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def program():
        quiet = dict.fromkeys(("logger", "enable_progress_bar", "enable_model_summary", "enable_checkpointing"), False)
        trainer = lightning.Trainer(accelerator="cpu", max_epochs=1, accumulate_grad_batches=STEPS, **quiet)
        trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(16, 3), batch_size=2))

    diagnosed(
        program, "AG305", "return loss / self.trainer", "ClosureResult", severity="warning", where=Module.training_step
    )


def test_a_literal_is_a_hint():
    """The number may be another one that is as large."""

    def halved(output, _):
        return output.square().mean() / 4

    (finding,) = [f for f in inspected(lambda: _accelerated(halved)).findings if f.rule == "AG305"]
    assert finding.severity == "info"


def test_numbers_that_count_something_else():
    """The samples of a sum, the terms of a loss, a part of the loss, another number, an accumulation of one."""

    def samples(output, _):
        return output.square().sum() / len(output)

    def terms(output, _):
        losses = [output.square().mean() * 0.5**level for level in range(STEPS)]
        return sum(losses) / len(losses)

    def part(output, accelerator):
        return output.square().mean() + output.abs().mean() / accelerator.gradient_accumulation_steps

    def other(output, _):
        temperature = 2.0
        return output.square().mean() / temperature

    calm(
        lambda: _accelerated(samples, rows=STEPS),
        lambda: _accelerated(terms),
        lambda: _accelerated(part),
        lambda: _accelerated(other),
        lambda: _accelerated(by_hand, steps=1),
    )
