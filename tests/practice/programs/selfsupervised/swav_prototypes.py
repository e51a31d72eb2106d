"""SwAV: each iteration gives the prototypes a new Parameter, while the optimizer still holds the first one."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SwAV(nn.Module):
    def __init__(self, dim=8, n_prototypes=6):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 16), nn.ReLU())
        self.projection_head = nn.Linear(16, dim)
        self.prototypes = nn.Linear(dim, n_prototypes, bias=False)

    def forward(self, x):
        z = F.normalize(self.projection_head(self.backbone(x)), dim=1)
        return z, self.prototypes(z)

    @torch.no_grad()
    def normalize_prototypes(self):
        w = F.normalize(self.prototypes.weight.clone(), dim=1, p=2)
        self.prototypes.weight = nn.Parameter(w)  # cause


@torch.no_grad()
def sinkhorn(scores, eps=0.05, n_iters=3):
    q = torch.exp(scores / eps).t()
    q /= q.sum()
    k, b = q.shape
    for _ in range(n_iters):
        q /= q.sum(1, keepdim=True) * k
        q /= q.sum(0, keepdim=True) * b
    return (q * b).t()


def run():
    torch.manual_seed(0)
    model = SwAV()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.6, momentum=0.9, weight_decay=1e-6)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    for epoch in range(3):
        model.normalize_prototypes()
        x = torch.randn(8, 12)
        views = [x + 0.2 * torch.randn_like(x) for _ in range(2)]
        scores = [model(v)[1] for v in views]
        codes = [sinkhorn(s.detach()) for s in scores]
        loss = -0.5 * sum((codes[i] * F.log_softmax(scores[1 - i] / 0.1, dim=1)).sum(1).mean() for i in range(2))
        optimizer.zero_grad()
        loss.backward()
        if epoch < 1:  # freeze_prototypes_niters
            model.prototypes.weight.grad = None
        optimizer.step()
        scheduler.step()
    return model, optimizer


def verify(out):
    model, optimizer = out
    held = {id(p) for g in optimizer.param_groups for p in g["params"]}
    assert id(model.prototypes.weight) not in held


TRUTH = Truth(
    fault="the prototypes in use are not those that the optimizer updates",
    names=("prototypes.weight",),
    repair=("self.prototypes.weight.copy_(w)",),
)
