"""Linear warm-up by LambdaLR from zero, meant per step but stepped per epoch: the whole first epoch runs at lr 0."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class PatchTransformer(nn.Module):
    def __init__(self, dim=12, classes=3):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, 5, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        tokens = self.patch(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls.expand(len(x), -1, -1), tokens], 1) + self.pos
        return self.head(self.encoder(tokens)[:, 0])


def warmup_cosine(opt, warmup, total):
    def factor(step):
        if step < warmup:
            return step / warmup
        progress = (step - warmup) / max(1, total - warmup)
        return 0.5 * (1 + torch.cos(torch.tensor(torch.pi * progress)).item())

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


def train(model, loader, epochs=1, warmup_steps=2):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.05)
    sched = warmup_cosine(opt, warmup_steps, epochs * len(loader))
    snapshots = []
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()  # cause
            snapshots.append(model.head.weight.detach().clone())
        print(f"epoch {epoch} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.2e}")
        sched.step()  # also
    return snapshots


def run():
    torch.manual_seed(0)
    data = TensorDataset(torch.rand(16, 1, 8, 8), torch.randint(0, 3, (16,)))
    return train(PatchTransformer(), DataLoader(data, batch_size=4))


def verify(out):
    assert all(torch.equal(out[0], w) for w in out)


TRUTH = Truth(
    fault="the learning rate is zero for the whole epoch",
    names=("lr",),
    repair=("opt.step()\nsched.step()",),
)
