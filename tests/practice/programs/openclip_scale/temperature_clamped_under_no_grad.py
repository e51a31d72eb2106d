"""OpenCLIP-like GradCache accumulation, and right: features are cached under no_grad and put together anew, scale clamped in place."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class CLIP(nn.Module):
    def __init__(self, image=10, vocab=20, dim=8):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(image, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, dim, bias=False))
        self.token_embedding = nn.Embedding(vocab, 16)
        self.text_projection = nn.Parameter(torch.randn(16, dim) * 16**-0.5)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, text):
        i = F.normalize(self.visual(image), dim=-1)
        t = F.normalize(self.token_embedding(text).mean(1) @ self.text_projection, dim=-1)
        return i, t, self.logit_scale.exp()


def clip_loss(i, t, scale):
    logits = scale * i @ t.T
    labels = torch.arange(len(i))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


def accumulated_step(model, optimizer, chunks):
    optimizer.zero_grad()
    cached_i, cached_t = [], []
    with torch.no_grad():
        for image, text in chunks:
            i, t, _ = model(image, text)
            cached_i.append(i)
            cached_t.append(t)
    for j, (image, text) in enumerate(chunks):
        i, t, scale = model(image, text)
        all_i = torch.cat([*cached_i[:j], i, *cached_i[j + 1 :]])
        all_t = torch.cat([*cached_t[:j], t, *cached_t[j + 1 :]])
        clip_loss(all_i, all_t, scale / len(chunks) + scale.detach() * (1 - 1 / len(chunks))).backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, math.log(100))


def full_gradients(model, chunks):
    image, text = (torch.cat(parts) for parts in zip(*chunks))
    return torch.autograd.grad(clip_loss(*model(image, text)), list(model.parameters()))


def run():
    torch.manual_seed(0)
    model = CLIP()
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(
        [{"params": rest, "weight_decay": 0.0}, {"params": decay, "weight_decay": 0.2}], lr=1e-3
    )
    agree = []
    for _ in range(3):
        chunks = [(torch.randn(4, 10), torch.randint(0, 20, (4, 5))) for _ in range(3)]
        exact = full_gradients(model, chunks)
        accumulated_step(model, optimizer, chunks)
        agree.append(all(torch.allclose(p.grad, g, rtol=1e-3, atol=1e-5) for p, g in zip(model.parameters(), exact)))
    return agree, model.logit_scale.item()


def verify(outcome):
    agree, scale = outcome
    assert agree == [True, True, True]
    assert 0 <= scale <= math.log(100)


TRUTH = Truth()
