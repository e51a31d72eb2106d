"""MoCo: the queue is overwritten in place before backward needs it."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, width=10, dim=8):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(width, 32), nn.ReLU())
        self.proj = nn.Linear(32, dim)

    def forward(self, x):
        return F.normalize(self.proj(self.trunk(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, dim=8, K=32, m=0.99, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = Encoder(dim=dim)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        self.encoder_k.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.mul_(self.m).add_(q, alpha=1 - self.m)

    @torch.no_grad()
    def dequeue_and_enqueue(self, keys):
        ptr, n = int(self.queue_ptr), keys.size(0)
        self.queue[:, ptr : ptr + n] = keys.t()
        self.queue_ptr[0] = (ptr + n) % self.K

    def forward(self, im_q, im_k):
        q = self.encoder_q(im_q)
        with torch.no_grad():
            self.momentum_update()
            k = self.encoder_k(im_k)
        l_pos = (q * k).sum(1, keepdim=True)
        l_neg = q @ self.queue  # cause
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        self.dequeue_and_enqueue(k)  # also
        return logits, torch.zeros(len(q), dtype=torch.long)


def augment(x):
    return x * (0.8 + 0.4 * torch.rand(x.size(0), 1)) + 0.1 * torch.randn_like(x)


def run():
    torch.manual_seed(0)
    model = MoCo()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.03, momentum=0.9, weight_decay=1e-4)
    losses = []
    for _ in range(3):
        x = torch.randn(8, 10)
        logits, labels = model(augment(x), augment(x))
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="the matrix product saved the queue, and the enqueue writes into it before backward",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("queue",),
    repair=("l_neg = q @ self.queue.clone()",),
)
