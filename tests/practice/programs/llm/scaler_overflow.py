"""Training with a loss scaler, tied weights and accumulation; the first scale overflows and steps are skipped, as designed: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class HalfGradients(torch.autograd.Function):
    """Lets gradients pass through fp16, as they would on the device; too large ones become inf."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.half().to(grad.dtype)


class LM(nn.Module):
    def __init__(self, vocab=32, dim=16):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.layer = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.lm_head.weight = self.wte.weight
        nn.init.normal_(self.wte.weight, std=0.1)

    def forward(self, ids):
        h, _ = self.layer(self.wte(ids))
        return self.lm_head(HalfGradients.apply(self.norm(h)))


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


class Trainer:
    def __init__(self, model, accumulation=2, max_norm=1.0):
        decay = [p for p in model.parameters() if p.ndim > 1]
        rest = [p for p in model.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=2e-3
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: min(1.0, (s + 1) / 3))
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**32, backoff_factor=2.0**-8, growth_interval=100)
        self.model, self.accumulation, self.max_norm = model, accumulation, max_norm
        self.scales, self.stepped = [], []

    def step(self, batches):
        for ids in batches:
            self.scaler.scale(lm_loss(self.model, ids) / self.accumulation).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        before = self.model.wte.weight.detach().clone()
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        if self.scaler.get_scale() >= scale:
            self.scheduler.step()
        self.scales.append(self.scaler.get_scale())
        self.stepped.append(not torch.equal(before, self.model.wte.weight))


def run():
    torch.manual_seed(0)
    model = LM()
    trainer = Trainer(model)
    for _ in range(6):
        trainer.step([torch.randint(0, 32, (4, 9)) for _ in range(2)])
    finite = all(p.isfinite().all() for p in model.parameters())
    return trainer.scales, trainer.stepped, finite, model.lm_head.weight is model.wte.weight


def verify(outcome):
    scales, stepped, finite, tied = outcome
    assert finite and tied and scales[0] < 2.0**32
    assert not stepped[0] and all(stepped[-3:]) and stepped == sorted(stepped)


TRUTH = Truth()
