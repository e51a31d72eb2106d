"""Self-supervision: the queue's clone() was saved, and the enqueue overwrites what backward() needs."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    dim: int = 12
    K: int = 32
    m: float = 0.9
    T: float = 0.2
    lr: float = 0.05
    batch_size: int = 8
    steps: int = 3


class BaseEncoder(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.Conv2d(8, 16, 3, 2, 1),
            nn.ReLU(inplace=True),
        )
        self.fc = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, num_classes))

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


class MoCo(nn.Module):
    def __init__(self, base_encoder, args):
        super().__init__()
        self.K, self.m, self.T = args.K, args.m, args.T
        self.encoder_q, self.encoder_k = base_encoder(num_classes=args.dim), base_encoder(num_classes=args.dim)
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data.copy_(param_q.data)
            param_k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(args.dim, args.K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        batch_size = keys.shape[0]
        ptr = int(self.queue_ptr)
        assert self.K % batch_size == 0
        self.queue[:, ptr : ptr + batch_size] = keys.T
        self.queue_ptr[0] = (ptr + batch_size) % self.K

    @torch.no_grad()
    def _batch_shuffle(self, x):
        idx_shuffle = torch.randperm(len(x))
        return x[idx_shuffle], idx_shuffle.argsort()

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            im_k, idx_unshuffle = self._batch_shuffle(im_k)
            k = F.normalize(self.encoder_k(im_k), dim=1)[idx_unshuffle]
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue])  # cause
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)  # also
        return logits, labels


class TwoCropsTransform:
    def __call__(self, x):
        return self.crop(x), self.crop(x)

    def crop(self, x):
        x = torch.roll(x, torch.randint(-2, 3, (2,)).tolist(), dims=(2, 3))
        return x + 0.1 * torch.randn_like(x)


def adjust_learning_rate(optimizer, step, args):
    for group in optimizer.param_groups:
        group["lr"] = args.lr * 0.5 * (1.0 + torch.cos(torch.tensor(torch.pi * step / 100)).item())


def train(images, model, args):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    two_crops, losses = TwoCropsTransform(), []
    model.train()
    for step in range(args.steps):
        adjust_learning_rate(optimizer, step, args)
        batch = images[torch.randint(len(images), (args.batch_size,))]
        output, target = model(*two_crops(batch))
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    args = Args()
    return train(torch.randn(40, 1, 12, 12), MoCo(BaseEncoder, args), args)


TRUTH = Truth(
    fault="the logits hold the queue itself; the enqueue writes into it before backward() has used it",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("queue",),
    repair=('l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])',),
)
