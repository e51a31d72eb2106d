"""Script to Hugging Face Trainer: the criterion's class centers sit on the Trainer, whose optimizer is made from the model alone."""

import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from transformers import Trainer, TrainingArguments

from tests.practice.truth import Truth


class FaceEmbedder(nn.Module):
    def __init__(self, features=8, dim=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, pixels):
        return F.normalize(self.net(pixels), dim=-1)


class ProxyLoss(nn.Module):
    def __init__(self, classes=5, dim=4, scale=8.0):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(classes, dim))
        self.scale = scale

    def forward(self, embeddings, labels):
        cosine = embeddings @ F.normalize(self.proxies, dim=-1).T
        return F.cross_entropy(self.scale * cosine, labels)


class MetricTrainer(Trainer):
    def __init__(self, *args, criterion, **kwargs):
        super().__init__(*args, **kwargs)
        self.criterion = criterion  # cause

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        embeddings = model(inputs["pixels"])
        loss = self.criterion(embeddings, inputs["labels"])
        return (loss, embeddings) if return_outputs else loss


def faces(count=24):
    return [{"pixels": torch.randn(8), "labels": torch.tensor(i % 5)} for i in range(count)]


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    criterion = ProxyLoss()
    before = criterion.proxies.detach().clone()
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
        trainer = MetricTrainer(FaceEmbedder(), arguments, train_dataset=faces(), criterion=criterion)
        trainer.train()
    return before, criterion.proxies


def verify(outcome):
    before, proxies = outcome
    assert proxies.grad is not None and torch.equal(before, proxies.detach())


TRUTH = Truth(
    fault="the proxies of the criterion are in no optimizer: they get gradients and never move",
    names=("proxies",),
    repair=("self.criterion = self.model.criterion = criterion",),
)
