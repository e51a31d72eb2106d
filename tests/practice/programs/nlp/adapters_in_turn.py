"""Language: two LoRA adapters on one base, trained in turn with an optimizer each; each only in its turn; all right."""

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch import nn

from tests.practice.truth import Truth

DIM, LABELS = 12, 3


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(DIM, DIM)
        self.out = nn.Linear(DIM, LABELS)

    def forward(self, x):
        return self.out(torch.tanh(self.inp(x)))


class Tenants:
    """Many customers, one base model in memory."""

    def __init__(self, names):
        config = LoraConfig(r=2, target_modules=["inp", "out"], lora_dropout=0.0)
        self.model = get_peft_model(Base(), config, adapter_name=names[0])
        for name in names[1:]:
            self.model.add_adapter(name, config)
        self.optimizers = {}
        for name in names:
            self.model.set_adapter(name)
            self.optimizers[name] = torch.optim.AdamW(self.parameters(name), lr=1e-2, weight_decay=0.0)

    def parameters(self, name):
        return [p for n, p in self.model.named_parameters() if f".{name}." in n]

    def snapshot(self):
        return {n: p.detach().clone() for n, p in self.model.named_parameters()}

    def step(self, name, x, y):
        self.model.set_adapter(name)
        self.optimizers[name].zero_grad()
        F.cross_entropy(self.model(x), y).backward()
        nn.utils.clip_grad_norm_(self.parameters(name), 1.0)
        self.optimizers[name].step()

    @torch.no_grad()
    def reference(self, x):
        with self.model.disable_adapter():
            return self.model(x)


def run():
    torch.manual_seed(0)
    tenants = Tenants(["red", "blue"])
    probe = torch.randn(5, DIM)
    first = tenants.reference(probe)
    alone = []
    for name in ("red", "blue", "red", "blue"):
        before = tenants.snapshot()
        tenants.step(name, torch.randn(8, DIM), torch.randint(0, LABELS, (8,)))
        moved = {n for n, p in tenants.model.named_parameters() if not torch.equal(before[n], p)}
        alone.append(bool(moved) and all(f".{name}." in n for n in moved))
    return alone, first, tenants.reference(probe)


def verify(outcome):
    alone, first, last = outcome
    assert all(alone)
    assert torch.equal(first, last)


TRUTH = Truth()
