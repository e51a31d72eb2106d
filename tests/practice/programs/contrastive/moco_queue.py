"""MoCo: the logits are taken against the queue itself, which is overwritten before the backward."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MoCo(nn.Module):
    def __init__(self, dim=8, K=32, m=0.99, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(72, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr, n = int(self.queue_ptr), keys.shape[0]
        self.queue[:, ptr : ptr + n] = keys.T  # also
        self.queue_ptr[0] = (ptr + n) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue)  # cause
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        self._dequeue_and_enqueue(k)
        return logits, torch.zeros(len(logits), dtype=torch.long)


def run():
    torch.manual_seed(0)
    model = MoCo()
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.SGD(params, lr=0.03, momentum=0.9, weight_decay=1e-4)
    for _ in range(2):
        x = torch.randn(4, 3, 8, 8)
        logits, labels = model(x + 0.1 * torch.randn_like(x), x.flip(3))
        loss = F.cross_entropy(logits, labels)
        acc = (logits.argmax(1) == labels).float().mean().item()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        print(f"loss {loss.item():.3f} acc {acc:.2f}")


TRUTH = Truth(
    fault="the queue that the logits need for their gradient is overwritten in place",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("queue",),
    repair=('l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())',),
)
