"""Self-supervision: accumulation over cached features without putting the live ones in, so only the scale learns."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    accum_freq: int = 2
    batch_size: int = 6
    steps: int = 2
    lr: float = 5e-3
    embed_dim: int = 12
    grad_clip_norm: float = 1.0


class ModifiedResNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, 2, 1)
        self.norm1 = nn.GroupNorm(2, 8)
        self.conv2 = nn.Conv2d(8, 16, 3, 2, 1)
        self.head = nn.Linear(16, dim)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        return self.head(F.relu(self.conv2(x)).mean((2, 3)))


class TextEncoder(nn.Module):
    def __init__(self, dim, vocab=25):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, dim))

    def forward(self, ids):
        return self.mlp(self.emb(ids))


class CLIP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.visual, self.textual = ModifiedResNet(dim), TextEncoder(dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, images, texts):
        return {
            "image_features": F.normalize(self.visual(images), dim=-1),
            "text_features": F.normalize(self.textual(texts), dim=-1),
            "logit_scale": self.logit_scale.exp(),
        }


def clip_loss(image_features, text_features, logit_scale):
    logits = logit_scale * image_features @ text_features.T
    labels = torch.arange(len(logits))
    return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels))


class Trainer:
    def __init__(self, args, model):
        self.args, self.model = args, model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
        self.reset()

    def reset(self):
        self.images, self.texts = [], []
        self.features = {}

    def cache(self, images, texts):
        with torch.no_grad():
            out = self.model(images, texts)
        out.pop("logit_scale")
        for key, value in out.items():
            self.features.setdefault(key, []).append(value)
        self.images.append(images)
        self.texts.append(texts)

    def update(self):
        self.optimizer.zero_grad()
        for j in range(self.args.accum_freq):
            model_out = self.model(self.images[j], self.texts[j])
            logit_scale = model_out.pop("logit_scale")
            inputs = {}
            for key, value in self.features.items():
                inputs[key] = torch.cat(value)  # cause
            clip_loss(**inputs, logit_scale=logit_scale).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.grad_clip_norm)
        self.optimizer.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(100))
        self.reset()

    def train_one_epoch(self, loader):
        self.model.train()
        for i, (images, texts) in enumerate(loader):
            self.cache(images, texts)
            if (i + 1) % self.args.accum_freq == 0:
                self.update()


def run():
    torch.manual_seed(0)
    args = Args()
    model = CLIP(args.embed_dim)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    n = args.accum_freq * args.steps
    loader = [(torch.randn(args.batch_size, 3, 12, 12), torch.randint(25, (args.batch_size, 5))) for _ in range(n)]
    Trainer(args, model).train_one_epoch(loader)
    return before, {n: p.detach() for n, p in model.named_parameters()}


def verify(outcome):
    before, after = outcome
    moved = {n for n in before if not torch.equal(before[n], after[n])}
    assert moved == {"logit_scale"}


TRUTH = Truth(
    fault="only the features cached under no_grad enter the loss: the fresh outputs are dropped and both towers get nothing",
    names=("visual",),
    repair=("inputs[key] = torch.cat([*value[:j], model_out[key], *value[j + 1 :]])",),
)
