"""Gradient accumulation 'does not match the big batch': gradients are cleared at each micro-batch, so only the last one counts."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class CFG:
    seed = 1
    accum_iter = 4
    batch_size = 4
    lr = 0.05


class EssayScorer(nn.Module):
    def __init__(self, vocab=30, dim=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.reg = nn.Linear(dim, 1)

    def forward(self, ids):
        h = torch.relu(self.conv(self.emb(ids).transpose(1, 2)))
        return self.reg(h.amax(-1)).squeeze(-1)


def make_loader(n):
    ids = torch.randint(0, 30, (n, 8))
    score = (ids < 6).float().sum(1)
    return list(zip(ids.split(CFG.batch_size), score.split(CFG.batch_size)))


def big_batch_gradient(model, batches):
    ids = torch.cat([b[0] for b in batches])
    y = torch.cat([b[1] for b in batches])
    return torch.autograd.grad(nn.functional.mse_loss(model(ids), y), model.reg.weight)[0]


def train_fn(loader, model, criterion, optimizer):
    model.train()
    gaps = []
    for step, (ids, score) in enumerate(loader):
        model.zero_grad()  # cause
        loss = criterion(model(ids), score) / CFG.accum_iter
        loss.backward()
        if (step + 1) % CFG.accum_iter == 0:
            window = loader[step + 1 - CFG.accum_iter : step + 1]
            want = big_batch_gradient(model, window)
            gaps.append(((model.reg.weight.grad - want).norm() / want.norm()).item())
            optimizer.step()
    return gaps


def run():
    torch.manual_seed(CFG.seed)
    model = EssayScorer()
    optimizer = torch.optim.SGD(model.parameters(), lr=CFG.lr)
    return train_fn(make_loader(48), model, nn.MSELoss(), optimizer)


def verify(gaps):
    assert len(gaps) == 3
    assert all(g > 0.3 for g in gaps), gaps


TRUTH = Truth(
    fault="zero_grad is called for every micro-batch, so what the first three of four have accumulated is thrown away",
    names=("zero_grad",),
    repair=("if step % CFG.accum_iter == 0:\n    model.zero_grad()",),
)
