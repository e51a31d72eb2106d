"""A Trainer whose compute_loss returns the loss detached, with the outputs."""

import tempfile

import torch
from torch import nn
from torch.nn import functional as F
from transformers import Trainer, TrainingArguments

from tests.practice.truth import Truth


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)

    def forward(self, x, labels=None):
        return {"logits": self.net(x)}


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs["logits"], inputs["labels"], weight=torch.tensor([1.0, 2.0, 1.0]))
        loss = loss.detach()  # cause
        return (loss, outputs) if return_outputs else loss


def run():
    torch.manual_seed(0)
    data = [{"x": torch.randn(4), "labels": torch.tensor(n % 3)} for n in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=2,
            per_device_train_batch_size=4,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        Weighted(model=Model(), args=arguments, train_dataset=data).train()


TRUTH = Truth(
    fault="the loss is detached",
    raises="element 0 of tensors does not require grad",
    names=("detach",),
    repair=("loss = loss * 1.0",),
)
