"""Contrastive: features are gathered as in a distributed job, but the local ones are never put back with their graph; only logit_scale trains."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class LoopbackGroup:
    """A process group of one rank with the interface of torch.distributed."""

    world_size, rank = 1, 0

    @staticmethod
    def all_gather(tensors, tensor):
        for t in tensors:
            t.copy_(tensor.detach())  # also


def gather_features(image_features, text_features, group, local_loss=False):
    gathered_image_features = [torch.zeros_like(image_features) for _ in range(group.world_size)]
    gathered_text_features = [torch.zeros_like(text_features) for _ in range(group.world_size)]
    group.all_gather(gathered_image_features, image_features)
    group.all_gather(gathered_text_features, text_features)
    if local_loss:  # cause
        # ensure grads for local rank when all_* features don't have a gradient
        gathered_image_features[group.rank] = image_features
        gathered_text_features[group.rank] = text_features
    return torch.cat(gathered_image_features, dim=0), torch.cat(gathered_text_features, dim=0)


class ClipLoss(nn.Module):
    def __init__(self, group, local_loss=False):
        super().__init__()
        self.group, self.local_loss = group, local_loss
        self.labels = {}

    def get_ground_truth(self, num_logits):
        if num_logits not in self.labels:
            self.labels[num_logits] = torch.arange(num_logits)
        return self.labels[num_logits]

    def forward(self, image_features, text_features, logit_scale):
        all_image_features, all_text_features = gather_features(
            image_features, text_features, self.group, self.local_loss
        )
        logits_per_image = logit_scale * all_image_features @ all_text_features.T
        logits_per_text = logits_per_image.T
        labels = self.get_ground_truth(logits_per_image.shape[0])
        return (F.cross_entropy(logits_per_image, labels) + F.cross_entropy(logits_per_text, labels)) / 2


class CLIP(nn.Module):
    def __init__(self, embed_dim=16, vocab=40, context=6):
        super().__init__()
        self.visual = nn.Sequential(
            nn.Conv2d(3, 16, 4, 4), nn.Flatten(2), nn.LayerNorm(4), nn.Flatten(1), nn.Linear(64, embed_dim)
        )
        self.token_embedding = nn.Embedding(vocab, 16)
        self.positional_embedding = nn.Parameter(torch.randn(context, 16) * 0.01)
        self.transformer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.ln_final = nn.LayerNorm(16)
        self.text_projection = nn.Parameter(torch.randn(16, embed_dim) * 16**-0.5)
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def encode_image(self, image):
        return F.normalize(self.visual(image), dim=-1)

    def encode_text(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = self.ln_final(self.transformer(x))
        return F.normalize(x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.text_projection, dim=-1)

    def forward(self, image, text):
        return self.encode_image(image), self.encode_text(text), self.logit_scale.exp()


def unwrap(model):
    return getattr(model, "module", model)


def run():
    torch.manual_seed(0)
    model = CLIP()
    exclude = lambda n, p: p.ndim < 2 or "ln" in n or "bias" in n or "logit_scale" in n
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if exclude(n, p)], "weight_decay": 0.0},
            {"params": [p for n, p in named if not exclude(n, p)], "weight_decay": 0.2},
        ],
        lr=1e-3,
        betas=(0.9, 0.98),
    )
    loss_fn = ClipLoss(LoopbackGroup())
    before = {n: p.detach().clone() for n, p in named}
    for _ in range(3):
        images, texts = torch.randn(6, 3, 8, 8), torch.randint(0, 40, (6, 6))
        optimizer.zero_grad()
        total_loss = loss_fn(*model(images, texts))
        total_loss.backward()
        optimizer.step()
        with torch.no_grad():
            unwrap(model).logit_scale.clamp_(0, math.log(100))
    return [n for n, p in named if not torch.equal(p, before[n])]


def verify(moved):
    assert moved == ["logit_scale"]


TRUTH = Truth(
    fault="the gathered features carry no gradient to the encoders; the local features are not put back",
    names=("visual", "all_gather"),
    repair=("if not local_loss:",),
)
