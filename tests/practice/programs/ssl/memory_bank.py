"""Instance discrimination with a memory bank: rows are read, mixed with the features and written back in place after the step: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, width=9, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 24), nn.LayerNorm(24), nn.ReLU(inplace=True), nn.Linear(24, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class MemoryBank(nn.Module):
    def __init__(self, n, dim, momentum=0.5, temperature=0.2, negatives=10):
        super().__init__()
        self.register_buffer("bank", F.normalize(torch.randn(n, dim), dim=1))
        self.register_buffer("Z", torch.tensor(-1.0))
        self.momentum, self.temperature, self.negatives = momentum, temperature, negatives

    def forward(self, features, index):
        noise = torch.randint(0, len(self.bank), (len(index), self.negatives))
        rows = torch.cat([index.unsqueeze(1), noise], 1)
        weight = torch.index_select(self.bank, 0, rows.view(-1)).view(*rows.shape, -1)
        out = torch.einsum("bkd,bd->bk", weight, features).div_(self.temperature).exp()
        if self.Z < 0:
            # the normaliser is estimated once and constant from then on
            self.Z.copy_(out.detach().mean() * len(self.bank))
        return out / self.Z

    @torch.no_grad()
    def write(self, features, index):
        row = self.bank.index_select(0, index)
        row.mul_(self.momentum).add_(features.detach(), alpha=1 - self.momentum)
        row.div_(row.norm(dim=1, keepdim=True))
        self.bank.index_copy_(0, index, row)


def nce(p, n_data, m=10, eps=1e-7):
    noise = m / n_data
    positive = p[:, :1] / (p[:, :1] + noise + eps)
    negative = noise / (p[:, 1:] + noise + eps)
    return -(positive.log().sum() + negative.log().sum()) / len(p)


class Pretraining:
    def __init__(self, data, batch=10):
        self.data, self.batch = data, batch
        self.encoder, self.memory = Encoder(), MemoryBank(len(data), 8)
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)

    def epoch(self):
        for index in torch.randperm(len(self.data)).split(self.batch):
            x = self.data[index]
            features = self.encoder(x + 0.1 * torch.randn_like(x))
            loss = nce(self.memory(features, index), len(self.data))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.memory.write(features, index)


def run():
    torch.manual_seed(0)
    trainer = Pretraining(torch.randn(20, 9))
    before = [p.detach().clone() for p in trainer.encoder.parameters()]
    bank = trainer.memory.bank.clone()
    for _ in range(2):
        trainer.epoch()
    return before, list(trainer.encoder.parameters()), bank, trainer.memory.bank


def verify(outcome):
    before, after, bank, new_bank = outcome
    assert all(not torch.equal(b, a) for b, a in zip(before, after))
    assert (bank != new_bank).any(1).all() and not new_bank.requires_grad
    assert torch.allclose(new_bank.norm(dim=1), torch.ones(20))


TRUTH = Truth()
