"""AG305: means of micro-batches that the Trainer leaves to the program to divide."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

STEPS = 4


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return {"x": torch.full((6, 3), float(i)) / 32, "labels": torch.arange(6) % 4}


class Net(nn.Module):
    """Its forward takes any keyword, so that the Trainer counts the items."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x, labels=None, **kwargs):
        return self.layer(x)


def trained(tmp_path, of_logits, steps=STEPS):
    """Train with a loss that is computed from the logits, the labels, the number of items and the Trainer."""
    transformers = pytest.importorskip("transformers")

    class Own(transformers.Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            logits = model(**inputs)
            loss = of_logits(logits.flatten(0, 1), inputs["labels"].flatten(), num_items_in_batch, self)
            return (loss, logits) if return_outputs else loss

    quiet = dict.fromkeys(("save_strategy", "logging_strategy"), "no")
    args = transformers.TrainingArguments(
        output_dir=str(tmp_path), per_device_train_batch_size=2, gradient_accumulation_steps=steps, max_steps=2,
        use_cpu=True, report_to=[], disable_tqdm=True, **quiet,
    )  # fmt: skip
    Own(model=Net(), args=args, train_dataset=Rows()).train()


def mean(logits, labels, count, trainer):
    return F.cross_entropy(logits, labels)


def test_a_mean_that_nobody_divides(tmp_path):
    """The gradients of the micro-batches are added up, and the number of items is not used."""
    diagnosed(
        lambda: trained(tmp_path, mean), "AG305", "F.cross_entropy", "micro-batches",
        severity="warning", where=mean,
    )  # fmt: skip


def test_losses_that_are_divided(tmp_path):
    """By the number of items, by the micro-batches; a sum; and one micro-batch a step."""

    def by_items(logits, labels, count, trainer):
        return F.cross_entropy(logits, labels, reduction="sum") / (len(labels) if count is None else count)

    def by_steps(logits, labels, count, trainer):
        return F.cross_entropy(logits, labels) / trainer.args.gradient_accumulation_steps

    def summed(logits, labels, count, trainer):
        return F.cross_entropy(logits, labels, reduction="none").sum()

    calm(
        lambda: trained(tmp_path, by_items),
        lambda: trained(tmp_path, by_steps),
        lambda: trained(tmp_path, summed),
        lambda: trained(tmp_path, mean, steps=1),
    )


def test_losses_that_the_trainer_divides(tmp_path):
    """A model that takes no other keywords: the Trainer divides by the micro-batches itself."""

    class Plain(Net):
        def forward(self, x, labels=None):
            return self.layer(x)

    def program():
        transformers = pytest.importorskip("transformers")

        class Own(transformers.Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                return F.cross_entropy(model(**inputs).flatten(0, 1), inputs["labels"].flatten())

        args = transformers.TrainingArguments(
            output_dir=str(tmp_path), per_device_train_batch_size=2, gradient_accumulation_steps=STEPS, max_steps=2,
            use_cpu=True, report_to=[], disable_tqdm=True, save_strategy="no", logging_strategy="no",
        )  # fmt: skip
        Own(model=Plain(), args=args, train_dataset=Rows()).train()

    calm(program)
