"""A backbone in bfloat16 and a head in float32 meet without a cast."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 8)).to(torch.bfloat16)
        self.backbone.requires_grad_(False)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x.to(torch.bfloat16))  # cause
        return self.head(features)  # also


def run():
    torch.manual_seed(0)
    model = Probe()
    optimizer = torch.optim.AdamW([*model.norm.parameters(), *model.head.parameters()], lr=1e-3)
    for _ in range(2):
        logits = model(torch.randn(4, 6))
        loss = nn.functional.cross_entropy(logits, torch.randint(3, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


TRUTH = Truth(
    fault="bfloat16 features meet float32 weights",
    raises="mat1 and mat2 must have the same dtype",
    repair=("features = self.backbone(x.to(torch.bfloat16)).float()",),
)
