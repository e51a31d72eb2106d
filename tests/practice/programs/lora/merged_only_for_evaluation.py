"""LoRA: an evaluation merges the adapters and takes them out again."""

import contextlib

import torch
from torch import nn

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, n_in, n_out, rank=2):
        super().__init__()
        self.base = nn.Linear(n_in, n_out).requires_grad_(False)
        self.down = nn.Parameter(0.1 * torch.randn(rank, n_in))
        self.up = nn.Parameter(torch.zeros(n_out, rank))
        self.merged = False

    @contextlib.contextmanager
    def merge(self):
        with torch.no_grad():
            kept = self.base.weight.clone()
            self.base.weight += self.up @ self.down
        self.merged = True
        try:
            yield
        finally:
            with torch.no_grad():
                self.base.weight.copy_(kept)
            self.merged = False

    def forward(self, x):
        if self.merged:
            return self.base(x)
        return self.base(x) + x @ self.down.t() @ self.up.t()


def run():
    torch.manual_seed(0)
    layer, head = LoRALinear(6, 16), nn.Linear(16, 2)
    trained = [p for m in (layer, head) for p in m.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trained, 1e-2)
    scores = []
    for _ in range(2):
        for _ in range(2):
            loss = nn.functional.cross_entropy(head(torch.relu(layer(torch.randn(8, 6)))), torch.randint(2, (8,)))
            opt.zero_grad()
            loss.backward()
            opt.step()
        with layer.merge(), torch.no_grad():
            scores.append(head(torch.relu(layer(torch.randn(8, 6)))).softmax(-1).max().item())
    return scores


TRUTH = Truth()
