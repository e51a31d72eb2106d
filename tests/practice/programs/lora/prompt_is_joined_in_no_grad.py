"""Prompt tuning: the embedding of the input runs under no_grad, and so does the cat with the prompt."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Prompted(nn.Module):
    def __init__(self, dim=16, length=4):
        super().__init__()
        self.table = nn.Embedding(30, dim).requires_grad_(False)
        self.body = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True).requires_grad_(False)
        self.prompt = nn.Parameter(torch.randn(length, dim) * 0.02)
        self.head = nn.Linear(dim, 2)

    def embed(self, ids):
        with torch.no_grad():  # cause
            words = self.table(ids)
            prompt = self.prompt.unsqueeze(0).expand(len(ids), -1, -1)  # also
            return torch.cat([prompt, words], dim=1)  # also

    def forward(self, ids):
        return self.head(self.body(self.embed(ids)).mean(1))


def run():
    torch.manual_seed(0)
    net = Prompted()
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-2, weight_decay=0.0)
    start = net.prompt.detach().clone()
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randint(30, (6, 5))), torch.randint(2, (6,))).backward()
        opt.step()
    return torch.equal(net.prompt, start)


def verify(same):
    assert same


TRUTH = Truth(fault="the prompt is joined without grad", names=("prompt", "no_grad"), repair=("if True:",))
