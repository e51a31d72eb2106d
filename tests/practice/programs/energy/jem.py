"""JEM: the sampler turns the weights' gradients off while it runs, and on again only for the head."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class JEM(nn.Module):
    def __init__(self, dim=8, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(dim, 16), nn.ELU(), nn.Linear(16, 16), nn.ELU())
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.features(x))

    def energy(self, x):
        return -self(x).logsumexp(dim=1)


def set_grad(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def sgld(model, buffer, n=8, steps=4, alpha=1.0, sigma=0.01):
    inds = torch.randint(0, len(buffer), (n,))
    fresh = torch.rand(n, 1) < 0.05
    x = torch.where(fresh, torch.rand(n, 8) * 2 - 1, buffer[inds])
    model.eval()
    set_grad(model, False)  # also
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        (g,) = torch.autograd.grad(model.energy(x).sum(), x)
        x = x - alpha * g + sigma * torch.randn_like(x)
    set_grad(model.head, True)  # cause
    model.train()
    x = x.detach()
    buffer[inds] = x
    return x


def run():
    torch.manual_seed(0)
    model = JEM()
    buffer = torch.rand(64, 8) * 2 - 1
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.999))
    start = [p.detach().clone() for p in model.features.parameters()]
    for step in range(3):
        x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
        x_neg = sgld(model, buffer)
        loss_gen = model.energy(x).mean() - model.energy(x_neg).mean()
        logits = model(x + 0.03 * torch.randn_like(x))
        loss_clf = F.cross_entropy(logits, y)
        loss = loss_clf + loss_gen
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc = (logits.argmax(1) == y).float().mean().item()
        print(f"{step}: clf {loss_clf.item():.3f} gen {loss_gen.item():.3f} acc {acc:.2f}")
    return model, start


def verify(out):
    model, start = out
    assert all(torch.equal(p, s) for p, s in zip(model.features.parameters(), start))


TRUTH = Truth(
    fault="the feature extractor stays frozen after sampling",
    names=("features",),
    minor=True,  # FreezeD freezes all and thaws the last layers in each round on purpose
    repair=("set_grad(model, True)",),
)
