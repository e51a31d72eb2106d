"""Script to Hugging Face Trainer, healthy: a frozen teacher on the trainer, no_grad in compute_loss, a callback that peeks in eval mode and returns."""

import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hidden = nn.Linear(8, width)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 4)

    def forward(self, features):
        return self.out(self.drop(F.relu(self.hidden(features))))


class DistillationTrainer(Trainer):
    def __init__(self, *args, teacher, temperature=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher.eval().requires_grad_(False)
        self.temperature = temperature

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        logits = model(inputs["features"])
        with torch.no_grad():
            target = (self.teacher(inputs["features"]) / self.temperature).softmax(dim=-1)
        soft = F.kl_div((logits / self.temperature).log_softmax(dim=-1), target, reduction="batchmean")
        loss = F.cross_entropy(logits, inputs["labels"]) + self.temperature**2 * soft
        return (loss, logits) if return_outputs else loss


class Peek(TrainerCallback):
    def __init__(self, probe):
        self.probe, self.seen = probe, []

    def on_step_end(self, args, state, control, model=None, **kwargs):
        mode = model.training
        model.eval()
        with torch.no_grad():
            self.seen.append(model(self.probe).mean().item())
        model.train(mode)


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    student, teacher, peek = Net(6), Net(16), Peek(torch.randn(2, 8))
    before = [p.detach().clone() for p in student.parameters()]
    data = [{"features": torch.randn(8), "labels": torch.tensor(i % 4)} for i in range(24)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=3,
            per_device_train_batch_size=8,
            learning_rate=1e-2,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            remove_unused_columns=False,
        )
        DistillationTrainer(student, arguments, train_dataset=data, teacher=teacher, callbacks=[peek]).train()
    return before, list(student.parameters()), list(teacher.parameters()), peek.seen


def verify(outcome):
    before, after, teacher, seen = outcome
    assert all(not torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))
    assert all(p.grad is None for p in teacher) and len(seen) == 3


TRUTH = Truth()
