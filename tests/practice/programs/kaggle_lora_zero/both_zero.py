"""Home-made LoRA: both factors start at zero, so neither ever gets a gradient that is not zero."""

import math

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.scaling = alpha / r
        self.A = nn.Parameter(torch.zeros(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        self.reset()

    def reset(self):
        for p in (self.A, self.B):
            nn.init.zeros_(p)  # cause

    def forward(self, x):
        return self.base(x) + (x @ self.A.t() @ self.B.t()) * self.scaling


class Encoder(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.q_proj = nn.Linear(d, d)
        self.k_proj = nn.Linear(d, d)
        self.v_proj = nn.Linear(d, d)
        self.score = nn.Linear(d, 1)

    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        a = (q @ k.transpose(1, 2) / math.sqrt(q.size(-1))).softmax(-1)
        return self.score((a @ v).mean(1)).squeeze(-1)


def inject(model, names):
    for name in names:
        setattr(model, name, LoRALinear(getattr(model, name)))
    for n, p in model.named_parameters():
        p.requires_grad = n.endswith((".A", ".B")) or n.startswith("score")
    return model


def run():
    torch.manual_seed(0)
    model = inject(Encoder(), ["q_proj", "v_proj"])
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=1e-2)
    for _ in range(3):
        x = torch.randn(8, 5, 8)
        y = x[:, 0, 0] * x[:, 1, 1]
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return {
        n: (p.abs().sum().item(), p.grad.abs().sum().item()) for n, p in model.named_parameters() if p.requires_grad
    }


def verify(state):
    assert state["score.weight"][1] > 0
    lora = {n: v for n, v in state.items() if n[-2:] in (".A", ".B")}
    assert len(lora) == 4 and all(v == (0.0, 0.0) for v in lora.values()), lora


TRUTH = Truth(
    fault="A and B are both zero, so the gradient of each is multiplied by the other's zeros: the adapters never leave zero",
    names=("A", "B"),
    repair=("nn.init.normal_(p, std=0.1) if p is self.A else nn.init.zeros_(p)",),
)
