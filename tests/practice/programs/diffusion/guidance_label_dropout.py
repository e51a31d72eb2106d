"""Classifier-free guidance: the null class is the embedding's padding_idx, so its row never learns."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ConditionalUNet(nn.Module):
    def __init__(self, channels=4, num_classes=3):
        super().__init__()
        self.num_classes = num_classes
        self.class_emb = nn.Embedding(num_classes + 1, channels, padding_idx=num_classes)  # cause
        self.time_emb = nn.Embedding(20, channels)
        self.down = nn.Conv2d(1, channels, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(channels, channels, 3, padding=1)
        self.up = nn.ConvTranspose2d(channels, channels, 2, stride=2)
        self.out = nn.Conv2d(channels + 1, 1, 3, padding=1)
        nn.init.normal_(self.class_emb.weight, std=0.02)

    def forward(self, x, t, y):
        cond = self.class_emb(y) + self.time_emb(t)
        h = F.silu(self.down(x)) + cond[:, :, None, None]
        h = F.silu(self.mid(h))
        return self.out(torch.cat([self.up(h), x], dim=1))


def drop_labels(y, null, p=0.5):
    keep = torch.rand(y.shape[0]) >= p
    return torch.where(keep, y, torch.full_like(y, null))


@torch.no_grad()
def guided(model, x, t, y, scale=3.0):
    null = torch.full_like(y, model.num_classes)
    eps_c, eps_u = model(torch.cat([x, x]), torch.cat([t, t]), torch.cat([y, null])).chunk(2)
    return eps_u + scale * (eps_c - eps_u)


def run():
    torch.manual_seed(1)
    model = ConditionalUNet()
    start = model.class_emb.weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    abar = torch.cos(torch.linspace(0.05, 1.5, 20)) ** 2
    for _ in range(3):
        x0, y = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))
        t = torch.randint(0, 20, (8,))
        noise = torch.randn_like(x0)
        a = abar[t].view(-1, 1, 1, 1)
        pred = model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t, drop_labels(y, model.num_classes))
        loss = F.mse_loss(pred, noise)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    eps = guided(model, torch.randn(2, 1, 8, 8), torch.tensor([19, 19]), torch.tensor([0, 1]))
    print(f"guided eps norm {eps.norm():.3f}")
    return model, start


def verify(out):
    model, start = out
    assert torch.equal(model.class_emb.weight[3], start[3])


TRUTH = Truth(
    fault="the null class's embedding row gets no gradient",
    names=("class_emb",),
    repair=("self.class_emb = nn.Embedding(num_classes + 1, channels)",),
)
