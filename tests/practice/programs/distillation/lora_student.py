"""LoRA student: the optimizer is made before the adapters, so it holds only the weights that peft then froze."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Student(nn.Module):
    def __init__(self, dim=16, n=4):
        super().__init__()
        self.q_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, n)

    def forward(self, x):
        att = torch.softmax(self.q_proj(x) @ x.transpose(1, 2) / 4, dim=-1)
        return self.out((att @ self.v_proj(x)).mean(1))


def build(lr):
    model = Student()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)  # cause
    config = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.0)
    model = get_peft_model(model, config)  # also
    return model, optimizer


def distill(model, teacher, optimizer, steps=3):
    model.train()
    for step in range(steps):
        x = torch.randn(6, 5, 16)
        with torch.no_grad():
            soft = teacher(x).softmax(-1)
        loss = F.cross_entropy(model(x), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def run():
    torch.manual_seed(0)
    teacher = Student().eval()
    model, optimizer = build(1e-2)
    n_train = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"trainable: {n_train}")
    distill(model, teacher, optimizer)
    return model


def verify(model):
    lora_b = [p for n, p in model.named_parameters() if "lora_B" in n]
    assert lora_b and all(p.abs().sum() == 0 for p in lora_b)  # as they were made


TRUTH = Truth(
    fault="the adapters' parameters are in no optimizer",
    names=("lora_B",),
    repair=(
        "model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=['q_proj', 'v_proj']))\n"
        "optimizer = torch.optim.AdamW(model.parameters(), lr=lr)\n"
        "return model, optimizer",
    ),
)
