"""Resume with load_state_dict(assign=True) after the optimizer was built: it goes on with the replaced parameters."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TabularNet(nn.Module):
    def __init__(self, cardinalities=(5, 7), numeric=3, dim=4):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(c, dim) for c in cardinalities)
        self.bn = nn.BatchNorm1d(numeric)
        self.mlp = nn.Sequential(nn.Linear(dim * len(cardinalities) + numeric, 12), nn.ReLU(), nn.Linear(12, 1))

    def forward(self, cats, nums):
        z = torch.cat([emb(cats[:, i]) for i, emb in enumerate(self.embs)] + [self.bn(nums)], 1)
        return self.mlp(z).squeeze(1)


class Run:
    def __init__(self):
        self.model = TabularNet()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-2)  # also
        self.epoch = 0

    def save(self, f):
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "epoch": self.epoch}, f)

    def resume(self, f):
        f.seek(0)
        ckpt = torch.load(f, weights_only=True, mmap=False)
        self.model.load_state_dict(ckpt["model"], assign=True)  # cause
        self.opt.load_state_dict(ckpt["opt"])
        self.epoch = ckpt["epoch"]

    def train(self, until):
        losses = []
        for self.epoch in range(self.epoch, until):
            gen = torch.Generator().manual_seed(self.epoch)
            cats = torch.stack([torch.randint(0, c, (16,), generator=gen) for c in (5, 7)], 1)
            nums = torch.randn(16, 3, generator=gen)
            loss = F.mse_loss(self.model(cats, nums), nums.sum(1) + cats[:, 0])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(round(loss.item(), 4))
        self.epoch = until
        print(f"epochs to {until}: {losses}")


def run():
    torch.manual_seed(0)
    first = Run()
    first.train(until=2)
    file = io.BytesIO()
    first.save(file)
    second = Run()
    second.resume(file)
    start = [p.detach().clone() for p in second.model.parameters()]
    second.train(until=4)
    return second.model, start


def verify(out):
    model, start = out
    assert all(torch.equal(p, s) for p, s in zip(model.parameters(), start))


TRUTH = Truth(
    fault="the optimizer holds the parameters from before the assignment",
    repair=(
        "self.model.load_state_dict(ckpt['model'], assign=True)\n"
        "self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-2)",
    ),
)
