"""The Lightning callback with the real Trainer, on a T5 with a head."""

import csv

import pytest

pytest.importorskip("lightning")
pytest.importorskip("transformers")

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.logger import Logger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from autograd_inspector.integrations.lightning import AutogradInspectorCallback
from tests.stories.lightning_t5 import DetachedJoint
from tests.stories.t5_model import CLASSES, VOCABULARY, LinearProbe, T5Classifier

from .bits import bits, grave

pytestmark = pytest.mark.stories


class Notebook(Logger):
    """A logger with TensorBoard's ``add_text`` behind it."""

    def __init__(self, writer):
        super().__init__()
        self.experiment, self.metrics = writer, []

    name = version = "notebook"

    def log_hyperparams(self, *args, **kwargs): ...

    def log_metrics(self, metrics, step=None):
        self.metrics.append((step, metrics))


class LateEdit(T5Classifier):
    """In the third batch the hidden states are edited after the head has saved them."""

    def training_step(self, batch, batch_index):
        hidden = self.decode(batch[0]) * 1
        loss = nn.functional.cross_entropy(self.head(hidden), batch[1])
        if batch_index == 2:
            hidden.mul_(0.5)
        return loss


class TwoOptimizers(lightning.LightningModule):
    """Manual optimization, as of a GAN."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.made, self.judge = nn.Linear(6, 6), nn.Linear(6, 1)

    def training_step(self, batch, batch_index):
        for optimizer, sign in zip(self.optimizers(), (1, -1), strict=True):
            optimizer.zero_grad()
            made = self.made(batch[0].float())
            self.manual_backward(sign * self.judge(made if sign > 0 else made.detach()).mean())
            optimizer.step()

    def configure_optimizers(self):
        return [torch.optim.SGD(part.parameters(), lr=0.1) for part in (self.made, self.judge)]


def fit(folder, kind, callback=None, *, steps=4, logger=False, **options):
    torch.manual_seed(4)
    model = kind()
    ids, topics = torch.randint(1, VOCABULARY, (16, 6)), torch.randint(CLASSES, (16,))
    trainer = lightning.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=logger,
        callbacks=callback,
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trainer.fit(model, DataLoader(TensorDataset(ids, topics), batch_size=2))
    return model


@pytest.mark.parametrize("kind", [T5Classifier, LinearProbe])
def test_a_healthy_training_gets_the_same_weights_and_no_finding(tmp_path, kind):
    """Bit by bit, with each step captured."""
    callback = AutogradInspectorCallback(first=2, every=4, formats=["json"])
    assert bits(fit(tmp_path, kind, callback)) == bits(fit(tmp_path, kind))
    assert callback.step == 4
    assert grave(callback.report) == []
    names = ["step-000001.json", "step-000002.json", "step-000004.json"]
    assert sorted(path.name for path in (tmp_path / "autograd-inspector").iterdir()) == names


def test_a_detached_head_is_found_in_the_first_step(tmp_path, writer):
    """The line is in the log, in TensorBoard's text and in the HTML file; the counts are metrics."""
    logger = Notebook(writer)
    callback = AutogradInspectorCallback(directory=tmp_path)
    fit(tmp_path, DetachedJoint, callback, steps=2, logger=logger)
    assert grave(callback.report) == ["AG101"]
    line = "decoder_hidden_states = out.decoder_hidden_states[-1].detach()"
    [(tag, text, step)] = writer.texts
    assert (tag, step) == ("autograd_inspector", 1)
    assert line in text
    assert line in (tmp_path / "step-000001.html").read_text(encoding="utf-8")
    found = {"autograd_inspector/error": 0.0, "autograd_inspector/warning": 1.0, "autograd_inspector/info": 0.0}
    assert (1, found) in logger.metrics


def test_without_tensorboard_the_counts_are_in_the_loggers_file(tmp_path):
    """The text is in the log and in the report's file; a logger that takes no text is not bothered with it."""
    fit(tmp_path, DetachedJoint, AutogradInspectorCallback(), steps=2, logger=CSVLogger(tmp_path, name="", version=""))
    [entry] = csv.DictReader((tmp_path / "metrics.csv").read_text(encoding="utf-8").splitlines())
    assert (entry["step"], entry["autograd_inspector/warning"]) == ("1", "1.0")
    assert (tmp_path / "autograd-inspector/step-000001.html").exists()


def test_the_failing_third_step_is_explained(tmp_path):
    """It was not chosen; torch's own error leaves ``fit``."""
    callback = AutogradInspectorCallback(formats=["txt"])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        fit(tmp_path, LateEdit, callback)
    assert callback.step == 3
    assert grave(callback.report) == ["AG201"]
    assert callback.report.findings[0].locations[0].source == "hidden.mul_(0.5)"
    assert "hidden.mul_(0.5)" in (tmp_path / "autograd-inspector/step-000003.txt").read_text(encoding="utf-8")


def test_accumulated_batches_are_one_step(tmp_path):
    """Three backward runs and one optimizer step."""
    callback = AutogradInspectorCallback(first=2, formats=())
    fit(tmp_path, T5Classifier, callback, steps=2, accumulate_grad_batches=3)
    capture = callback.report.capture
    assert (callback.step, len(capture.backwards), len(capture.steps)) == (2, 3, 1)
    assert grave(callback.report) == []


def test_manual_optimization_with_two_optimizers(tmp_path):
    """A batch is a step, both optimizers' steps in it."""
    callback = AutogradInspectorCallback(first=2, formats=())
    plain = fit(tmp_path, TwoOptimizers, steps=4)
    assert bits(fit(tmp_path, TwoOptimizers, callback, steps=4)) == bits(plain)
    assert (callback.step, len(callback.report.capture.steps)) == (2, 2)
    assert grave(callback.report) == []
