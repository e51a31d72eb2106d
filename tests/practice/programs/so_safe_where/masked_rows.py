"""Healthy: attention with fully masked rows and logs of zeros, kept free of NaN by the double where, in-place fills on fresh tensors and a detached maximum."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def masked_softmax(scores, keep):
    top = scores.detach().masked_fill(~keep, -1e4).amax(-1, keepdim=True)
    e = torch.exp((scores - top).clamp(max=30)) * keep
    return e / e.sum(-1, keepdim=True).clamp(min=1e-9)


def safe_log(x):
    ok = x > 0
    return torch.where(ok, torch.log(torch.where(ok, x, torch.ones_like(x))), torch.zeros_like(x))


class Pooler(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.key = nn.Linear(dim, dim, bias=False)
        self.query = nn.Parameter(torch.randn(dim) / dim**0.5)

    def forward(self, x, keep):
        w = masked_softmax(self.key(x) @ self.query, keep)
        entropy = -(w * safe_log(w)).sum(-1)
        return torch.einsum("bt,btd->bd", w, x), entropy


class SetClassifier(nn.Module):
    def __init__(self, n_in=3, dim=8):
        super().__init__()
        self.emb = nn.Linear(n_in, dim)
        self.pool = Pooler(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x, keep):
        h = self.emb(x)
        h = h.masked_fill(~keep.unsqueeze(-1), 0.0)
        h.mul_(1.0).relu_()
        pooled, entropy = self.pool(h, keep)
        return self.out(pooled), entropy


def sets(n, t=5):
    x = torch.randn(n, t, 3)
    size = torch.randint(0, t + 1, (n,))
    size[0] = 0  # an empty set
    keep = torch.arange(t).unsqueeze(0) < size.unsqueeze(1)
    return x, keep, (x[..., 0] * keep).sum(1).gt(0).long()


def run():
    torch.manual_seed(0)
    net = SetClassifier()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    start = {n: p.detach().clone() for n, p in net.named_parameters()}
    finite = True
    for _ in range(4):
        x, keep, y = sets(12)
        logits, entropy = net(x, keep)
        loss = nn.functional.cross_entropy(logits, y) - 0.01 * entropy.mean()
        opt.zero_grad()
        loss.backward()
        finite &= all(torch.isfinite(p.grad).all().item() for p in net.parameters())
        opt.step()
    return finite, {n: not torch.equal(p, start[n]) for n, p in net.named_parameters()}


def verify(outcome):
    finite, moved = outcome
    assert finite
    assert all(moved.values()), moved


TRUTH = Truth()
