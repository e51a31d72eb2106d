"""LoRA tuning of a text classifier that is evaluated between epochs."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class TextClassifier(nn.Module):
    def __init__(self, vocab=40, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.embed(ids).mean(1)
        return self.head(x + self.fc2(F.gelu(self.fc1(x))))


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    model.merge_adapter()  # cause
    hits = sum((model(ids).argmax(-1) == y).sum().item() for ids, y in data)
    return hits / sum(len(y) for _, y in data)


def train_epoch(model, opt, data):
    model.train()
    for ids, y in data:
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def lora_state(model):
    return {n: p.detach().clone() for n, p in model.named_parameters() if "lora_" in n}


def run():
    torch.manual_seed(0)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=["fc1", "fc2"], modules_to_save=["head"])
    model = get_peft_model(TextClassifier(), config)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    data = [(torch.randint(0, 40, (8, 6)), torch.randint(0, 3, (8,))) for _ in range(3)]
    train_epoch(model, opt, data)
    evaluate(model, data)
    middle = lora_state(model)
    train_epoch(model, opt, data)
    return middle, lora_state(model)


TRUTH = Truth(
    fault="adapters stay merged after the evaluation, so LoRA weights get no gradient in the next epoch",
    names=("merge_adapter",),
    repair=("",),
)


def well(out):
    a, b = out
    assert all(not torch.equal(a[n], b[n]) for n in a)


verify = fails(well)
