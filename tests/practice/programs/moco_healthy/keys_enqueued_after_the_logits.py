"""MoCo, and right: keys without a graph, the queue a buffer changed in place after its clone was used, BN shuffled."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MoCo(nn.Module):
    def __init__(self, base_encoder, dim=8, K=24, m=0.9, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = base_encoder(dim), base_encoder(dim)
        for pq, pk in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            pk.data.copy_(pq.data)
            pk.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for pq, pk in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            pk.data = pk.data * self.m + pq.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr : ptr + len(keys)] = keys.T
        self.queue_ptr[0] = (ptr + len(keys)) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            idx = torch.randperm(len(im_k))
            k = F.normalize(self.encoder_k(im_k[idx]), dim=1)[idx.argsort()]
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = torch.cat([l_pos, l_neg], 1) / self.T
        self._dequeue_and_enqueue(k)
        return logits, torch.zeros(len(logits), dtype=torch.long)


def encoder(dim):
    return nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, dim))


def run():
    torch.manual_seed(0)
    model = MoCo(encoder)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(4):
        x = torch.randn(8, 10)
        output, target = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        loss = F.cross_entropy(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    moved = {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}
    return moved, int(model.queue_ptr), [p.grad for p in model.encoder_k.parameters()]


def verify(outcome):
    moved, ptr, key_grads = outcome
    assert ptr == 8
    assert all(g is None for g in key_grads)
    assert all(v > 0 for v in moved.values())


TRUTH = Truth()
