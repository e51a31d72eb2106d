"""LoRA by hand: B starts at zero so A has no gradient in step one; weights are merged for eval and unmerged for training."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class LoraLinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=5**0.5)
        self.scale, self.backup = alpha / rank, None

    def train(self, mode=True):
        super().train(mode)
        if mode and self.backup is not None:
            self.base.weight.data = self.backup  # exact restore, not a subtraction
            self.backup = None
        elif not mode and self.backup is None:
            self.backup = self.base.weight.data
            self.base.weight.data = self.backup + self.scale * self.b.detach() @ self.a.detach()
        return self

    def forward(self, x):
        out = self.base(x)
        if self.backup is None:
            out = out + F.linear(F.linear(x, self.a), self.b) * self.scale
        return out


def inject(model):
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            setattr(model, name, LoraLinear(child))
    return model


def run():
    torch.manual_seed(0)
    pretrained = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 3))
    model = inject(copy.deepcopy(pretrained).requires_grad_(False))
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    start_a = model[0].a.detach().clone()
    a_grads, gaps = [], []
    for _ in range(4):
        x, y = torch.randn(8, 6), torch.randint(3, (8,))
        model.train()
        F.cross_entropy(model(x), y).backward()
        a_grads.append(model[0].a.grad.abs().sum().item())
        opt.step()
        opt.zero_grad()
        with torch.no_grad():
            live = model(x)
            merged = model.eval()(x)
        gaps.append((live - merged).abs().max().item())
    model.train()
    return pretrained, model, start_a, a_grads, gaps


def verify(outcome):
    pretrained, model, start_a, a_grads, gaps = outcome
    assert a_grads[0] == 0 and min(a_grads[1:]) > 0 and max(gaps) < 1e-5
    for i in (0, 2):
        assert torch.equal(model[i].base.weight, pretrained[i].weight)
        assert model[i].base.weight.grad is None and model[i].b.abs().sum() > 0
    assert not torch.equal(model[0].a, start_a)


TRUTH = Truth()
