"""Self-supervised: MoCo with a momentum encoder, a queue written in place and shuffled batches; healthy."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, num_classes=8):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, num_classes)

    def forward(self, x):
        return self.fc(F.relu_(self.bn(self.conv(x))).mean((2, 3)))


class MoCo(nn.Module):
    def __init__(self, base_encoder, dim=8, K=32, m=0.9, T=0.07, mlp=True):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = base_encoder(num_classes=dim), base_encoder(num_classes=dim)
        if mlp:
            for encoder in (self.encoder_q, self.encoder_k):
                dim_mlp = encoder.fc.weight.shape[1]
                encoder.fc = nn.Sequential(nn.Linear(dim_mlp, dim_mlp), nn.ReLU(), encoder.fc)
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data.copy_(param_q.data)
            param_k.requires_grad = False
        self.register_buffer("queue", torch.randn(dim, K))
        self.queue = nn.functional.normalize(self.queue, dim=0)
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        batch_size, ptr = keys.shape[0], int(self.queue_ptr)
        assert self.K % batch_size == 0
        self.queue[:, ptr : ptr + batch_size] = keys.T
        self.queue_ptr[0] = (ptr + batch_size) % self.K

    @torch.no_grad()
    def _batch_shuffle(self, x):
        idx_shuffle = torch.randperm(x.size(0))
        return x[idx_shuffle], torch.argsort(idx_shuffle)

    def forward(self, im_q, im_k):
        q = nn.functional.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            im_k, idx_unshuffle = self._batch_shuffle(im_k)
            k = nn.functional.normalize(self.encoder_k(im_k), dim=1)
            k = k[idx_unshuffle]
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1)
        logits /= self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def adjust_learning_rate(optimizer, epoch, lr=0.03, schedule=(2,)):
    for milestone in schedule:
        lr *= 0.1 if epoch >= milestone else 1.0
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr


def two_crops(x):
    return [x + 0.1 * torch.randn_like(x) for _ in range(2)]


def run():
    torch.manual_seed(0)
    model = MoCo(Encoder)
    optimizer = torch.optim.SGD(model.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
    before = {n: t.detach().clone() for n, t in model.state_dict().items()}
    for epoch in range(3):
        adjust_learning_rate(optimizer, epoch)
        model.train()
        images = two_crops(torch.rand(8, 3, 8, 8))
        output, target = model(im_q=images[0], im_k=images[1])
        loss = F.cross_entropy(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return before, model


def verify(outcome):
    before, model = outcome
    for n, t in model.state_dict().items():
        assert not torch.equal(t, before[n]), n
    assert all(p.grad is None for p in model.encoder_k.parameters())


TRUTH = Truth()
