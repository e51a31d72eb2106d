"""The transformers callback with the real Trainer and trl's SFTTrainer, on a tiny Mistral."""

import logging

import pytest

pytest.importorskip("transformers")
pytest.importorskip("trl")
pytest.importorskip("peft")

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning
from autograd_inspector.integrations import transformers as integration
from autograd_inspector.integrations.transformers import AutogradInspectorCallback, inspected
from tests.stories import mistral_sft
from tests.stories.mistral_checkpointing import PaddedLayer
from tests.stories.mistral_model import VOCABULARY, adapted_mistral, causal_mask, language_loss, tiny_mistral

from .bits import bits, grave

pytestmark = pytest.mark.stories


class Texts(Dataset):
    """Sixteen texts of random words."""

    def __init__(self):
        self.ids = torch.randint(3, VOCABULARY, (16, 8), generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


class PadsInPlace(Trainer):
    """From the third step on, every checkpointed layer hides the padding in the mask that all layers share."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        if self.state.global_step < 2:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        ids = inputs["input_ids"]
        mistral = model.get_base_model()
        hidden = mistral.model.embed_tokens(ids)
        rotary = mistral.model.rotary_emb(hidden, torch.arange(8)[None])
        mask = causal_mask(8).repeat(2, 1, 1, 1)
        for layer in mistral.model.layers:
            layer.gradient_checkpointing = False
            hidden = torch.utils.checkpoint.checkpoint(
                PaddedLayer(layer), hidden, mask, ids == 0, rotary, use_reentrant=False
            )
        return language_loss(mistral.lm_head(mistral.model.norm(hidden)), ids)


class BadStep(torch.optim.SGD):
    """Raises in its third step."""

    calls = 0

    def step(self, closure=None):
        self.calls += 1
        if self.calls == 3:
            raise ArithmeticError("third step")
        return super().step(closure)


def made(folder, model, *callbacks, kind=Trainer, optimizer=None, **options):
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=4,
        per_device_train_batch_size=2,
        learning_rate=1e-2,
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        **options,
    )
    return kind(model, arguments, train_dataset=Texts(), callbacks=list(callbacks), optimizers=(optimizer, None))


def trained(folder, *callbacks, **options):
    trainer = made(folder, tiny_mistral(2), *callbacks, **options)
    trainer.train()
    return trainer


def test_a_healthy_training_gets_the_same_weights_and_no_finding(tmp_path):
    """Bit by bit, and the Trainer's own history; nothing of ours is left on the Trainer."""
    callback = AutogradInspectorCallback(every=2, formats=["json"])
    plain, seen = trained(tmp_path), trained(tmp_path, callback)
    assert bits(seen.model) == bits(plain.model)
    assert [set(entry) for entry in seen.state.log_history] == [set(entry) for entry in plain.state.log_history]
    assert set(vars(seen)) == set(vars(plain))
    assert (callback.step, grave(callback.report)) == (4, [])
    names = ["step-000001.json", "step-000002.json", "step-000004.json"]
    assert sorted(path.name for path in (tmp_path / "autograd-inspector").iterdir()) == names


def test_micro_batches_are_one_step(tmp_path):
    """Two backward runs and one optimizer step."""
    callback = AutogradInspectorCallback(first=2, formats=())
    trained(tmp_path, callback, gradient_accumulation_steps=2)
    capture = callback.report.capture
    assert (callback.step, len(capture.backwards), len(capture.steps)) == (2, 2, 1)
    assert grave(callback.report) == []


def train_inspected(trainer):
    """The way that needs nothing private."""
    with inspected(trainer) as callback:
        yield callback
        trainer.train()


def train_with_callback(trainer):
    """The way of every other callback."""
    callback = AutogradInspectorCallback()
    trainer.add_callback(callback)
    yield callback
    trainer.train()


@pytest.mark.parametrize("way", [train_inspected, train_with_callback])
def test_the_failing_third_step_is_explained(tmp_path, way, caplog):
    """An in-place edit under checkpointing: the line in the log, torch's own error from ``train()``."""
    trainer = made(tmp_path, adapted_mistral(4), kind=PadsInPlace)
    running = way(trainer)
    callback = next(running)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        next(running)
    assert callback.step == 3
    assert "AG201" in grave(callback.report)
    line = "mask.masked_fill_(padding[:, None, None], HIDDEN)"
    assert line in [location.source for location in callback.report.findings[0].locations]
    [record] = [
        entry for entry in caplog.records if entry.name == "autograd_inspector" and entry.levelno > logging.INFO
    ]
    assert line in record.getMessage()
    page = (tmp_path / "autograd-inspector/step-000003.html").read_text(encoding="utf-8")
    assert "mask.masked_fill_" in page.replace("<wbr/>", "")  # Where a long line may break.
    assert "_run_epoch" not in vars(trainer)


def test_an_error_in_the_optimizer_step_closes_the_capture(tmp_path):
    """The exception is the program's own object, and nothing stays open or shadowed."""
    model = tiny_mistral(1)
    callback = AutogradInspectorCallback(formats=())
    trainer = made(tmp_path, model, callback, optimizer=BadStep(model.parameters(), lr=0.1))
    with pytest.raises(ArithmeticError, match=r"^third step$"):
        trainer.train()
    assert callback.step == 3
    assert callback.report.capture.error == "ArithmeticError: third step"
    assert "_run_epoch" not in vars(trainer)


def test_tensorboard_gets_the_text_and_other_reporters_the_counts(tmp_path, writer):
    """By the callbacks that report for the Trainer."""

    class Reporter(TrainerCallback):
        tb_writer = writer
        logs = ()

        def on_log(self, args, state, control, logs=None, **kwargs):
            self.logs = (*self.logs, logs)

    reporter = Reporter()
    trained(tmp_path, reporter, AutogradInspectorCallback(formats=()))
    [(tag, text, step)] = writer.texts
    assert (tag, step) == ("autograd_inspector", 1)
    assert "step 1: no findings" in text
    assert reporter.logs[0]["autograd_inspector/error"] == 0.0


def test_a_trainer_of_another_kind_is_told_of_inspected(tmp_path, monkeypatch):
    """Where exceptions cannot be seen, nothing is opened that could stay open."""
    monkeypatch.setattr(integration, "_EPOCH", "a_method_that_is_not_there")
    callback = AutogradInspectorCallback()
    with pytest.warns(InspectorWarning, match=r"with inspected\(trainer\)"):
        trained(tmp_path, callback)
    assert callback.report is None


def test_trls_trainer_with_adapters_and_checkpointing(monkeypatch):
    """SFTTrainer with LoRA is healthy, and learns the same."""
    plain = mistral_sft.fine_tune_with_trl()
    callback = AutogradInspectorCallback(first=2, formats=())
    real = mistral_sft.SFTTrainer
    monkeypatch.setattr(mistral_sft, "SFTTrainer", lambda **given: real(callbacks=[callback], **given))
    assert mistral_sft.fine_tune_with_trl() == plain
    assert (callback.step, grave(callback.report)) == (2, [])
