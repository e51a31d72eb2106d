"""Gradient accumulation on audio: the sum is clipped after every micro-batch, which shrinks the earlier ones again and again."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ConvFeatureExtractor(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, dim, 10, 5, bias=False),
            nn.GroupNorm(2, dim),
            nn.GELU(),
            nn.Conv1d(dim, dim, 3, 2, bias=False),
            nn.GELU(),
        )

    def forward(self, wave):
        return self.layers(wave.unsqueeze(1)).transpose(1, 2)


class ContrastiveModel(nn.Module):
    def __init__(self, dim=8, negatives=4):
        super().__init__()
        self.extractor = ConvFeatureExtractor(dim)
        self.mask_emb = nn.Parameter(torch.rand(dim))
        self.context = nn.GRU(dim, dim, batch_first=True)
        self.project = nn.Linear(dim, dim)
        self.negatives = negatives

    def forward(self, wave):
        z = self.extractor(wave)
        mask = torch.rand(z.shape[:2]) < 0.4
        mask[:, 0], mask[:, 1] = True, False
        x = torch.where(mask.unsqueeze(-1), self.mask_emb, z)
        c = self.project(self.context(x)[0])[mask]
        positive = z[mask]
        others = z.flatten(0, 1)[torch.randint(0, z.shape[0] * z.shape[1], (self.negatives, len(c)))]
        candidates = torch.cat((positive.unsqueeze(0), others))
        logits = F.cosine_similarity(c.unsqueeze(0), candidates, dim=-1) / 0.1
        return F.cross_entropy(logits.t(), torch.zeros(len(c), dtype=torch.long))


def grad_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item()


def train(model, loader, update_freq=4, max_norm=0.05, lr=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.98), eps=1e-6)
    optimizer.zero_grad()
    partial = []
    model.train()
    for i, wave in enumerate(loader):
        loss = model(wave) / update_freq
        loss.backward()
        if i % update_freq != update_freq - 1:
            summed = grad_norm(model)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # cause
        if i % update_freq != update_freq - 1:
            partial.append(grad_norm(model) < 0.99 * summed)
            continue
        optimizer.step()
        optimizer.zero_grad()
    return partial


def run():
    torch.manual_seed(0)
    loader = [torch.randn(3, 120) for _ in range(8)]
    return train(ContrastiveModel(), loader)


def verify(outcome):
    assert len(outcome) == 6 and all(outcome), outcome


TRUTH = Truth(
    fault="clip_grad_norm_() runs in every micro-batch on the unfinished sum: the early ones hardly count",
    names=("clip_grad_norm_",),
    repair=("if i % update_freq == update_freq - 1:\n    nn.utils.clip_grad_norm_(model.parameters(), max_norm)",),
)
