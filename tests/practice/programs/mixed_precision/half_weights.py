"""Fine-tuning in bfloat16 with a small learning rate."""

import copy

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class Ranker(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.q = nn.Linear(dim, dim)
        self.d = nn.Linear(dim, dim)
        self.scale = nn.Parameter(torch.tensor(5.0))

    def forward(self, query, docs):
        q, d = self.q(self.norm(query)), self.d(self.norm(docs))
        return self.scale * (F.normalize(q, dim=-1).unsqueeze(1) * F.normalize(d, dim=-1)).sum(-1)


def finetune(model, batches, lr=2e-5, dtype=torch.bfloat16):
    model = model.to(dtype)  # cause
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.5, total_iters=len(batches))
    losses = []
    for query, docs, label in batches:
        with torch.autocast("cpu", dtype=dtype):
            scores = model(query.to(model.scale.dtype), docs.to(model.scale.dtype))
        loss = F.cross_entropy(scores.float(), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        losses.append(loss.item())
    return model, losses


def run():
    torch.manual_seed(0)
    base = Ranker()
    for m in (base.q, base.d):
        nn.init.normal_(m.weight, mean=0.0, std=0.5)
    base.to(torch.bfloat16).float()
    batches = [(torch.randn(4, 32), torch.randn(4, 6, 32), torch.randint(0, 6, (4,))) for _ in range(8)]
    tuned, _ = finetune(copy.deepcopy(base), batches)
    return base, tuned


TRUTH = Truth(
    fault="updates are smaller than the spacing of bfloat16 weights and are rounded away",
    names=("bfloat16",),
    values=True,
    repair=("",),
)


def well(out):
    base, tuned = out
    assert tuned.scale.item() != base.scale.item()
    changed = (tuned.q.weight.float() != base.q.weight).float().mean()
    assert changed > 0.9


verify = fails(well)
