"""Hand-written LoRA on a small classifier: both factors start at zero, so neither ever moves."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank=4, alpha=8, dropout=0.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.zeros(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scaling = alpha / rank
        self.dropout = nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self):
        # the adapted layer must start out equal to the pretrained one
        nn.init.zeros_(self.lora_A)  # cause
        nn.init.zeros_(self.lora_B)  # also

    def forward(self, x):
        update = self.dropout(x) @ self.lora_A.t() @ self.lora_B.t()
        return self.base(x) + self.scaling * update


class Encoder(nn.Module):
    def __init__(self, vocab=50, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.q_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.embed(ids)
        q, v = self.q_proj(x), self.v_proj(x)
        att = (q @ x.transpose(1, 2) / math.sqrt(x.size(-1))).softmax(-1)
        return self.classifier((att @ v).mean(1))


def inject_lora(model, targets=("q_proj", "v_proj")):
    model.requires_grad_(False)
    for name in targets:
        setattr(model, name, LoRALinear(getattr(model, name)))
    for p in model.classifier.parameters():
        p.requires_grad = True
    return model


def run():
    torch.manual_seed(0)
    model = inject_lora(Encoder())
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    head = model.classifier.weight.detach().clone()
    for _ in range(4):
        ids, labels = torch.randint(0, 50, (8, 6)), torch.randint(0, 3, (8,))
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return head, model.classifier.weight.detach(), model.q_proj.lora_B.detach(), model.v_proj.lora_A.detach()


def verify(outcome):
    head_before, head_after, b, a = outcome
    assert not torch.equal(head_before, head_after)
    assert b.eq(0).all() and a.eq(0).all()


TRUTH = Truth(
    fault="lora_A and lora_B are both zero: each gets its gradient through the other, so both stay zero",
    values=True,
    names=("lora_A", "lora_B"),
    repair=("nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))",),
)
