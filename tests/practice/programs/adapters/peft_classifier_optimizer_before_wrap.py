"""Full fine-tuning to peft: the head's optimizer group was made before get_peft_model, which trains a copy of the head (modules_to_save)."""

import warnings

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch import nn

from tests.practice.truth import Truth


class SmallBert(nn.Module):
    def __init__(self, vocab=30, dim=12, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.query = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        weights = (self.query(x) @ x.transpose(1, 2)).softmax(dim=-1)
        return self.classifier((weights @ self.value(x)).mean(dim=1))


def lora_config():
    return LoraConfig(r=2, lora_alpha=4, target_modules=["query", "value"], modules_to_save=["classifier"])


def build(head_lr=1e-2, lora_lr=1e-3):
    model = SmallBert()
    head = list(model.classifier.parameters())  # cause
    model = get_peft_model(model, lora_config())  # cause
    lora = [p for name, p in model.named_parameters() if "lora_" in name]
    optimizer = torch.optim.AdamW([{"params": head, "lr": head_lr}, {"params": lora, "lr": lora_lr}])
    return model, optimizer


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    model, optimizer = build()
    weight = next(p for name, p in model.named_parameters() if "modules_to_save" in name and name.endswith("weight"))
    before = weight.detach().clone()
    model.train()
    for _ in range(3):
        tokens = torch.randint(0, 30, (8, 5))
        loss = F.cross_entropy(model(tokens), tokens[:, 0] % 3)
        model.zero_grad()
        loss.backward()
        optimizer.step()
    return before, weight


def verify(outcome):
    before, weight = outcome
    assert weight.grad is not None and torch.equal(before, weight.detach())


TRUTH = Truth(
    fault="the trained classifier is peft's copy; the optimizer holds the original, which is never used",
    names=("classifier",),
    repair=(
        "model = get_peft_model(model, lora_config())",
        'head = [p for name, p in model.named_parameters() if "modules_to_save" in name]',
    ),
)
