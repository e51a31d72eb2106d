"""Speech: the no_grad context of the frozen phase is chosen once in __init__, and the encoder never thaws."""

import contextlib
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Wav2VecCtcConfig:
    vocab: int = 8
    dim: int = 16
    freeze_finetune_updates: int = 2
    final_dropout: float = 0.1
    lr: float = 5e-3
    max_update: int = 5


class Wav2VecModel(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.feature_extractor = nn.Sequential(nn.Conv1d(1, dim, 8, 4), nn.GELU(), nn.Conv1d(dim, dim, 4, 2), nn.GELU())
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, source):
        x = self.feature_extractor(source.unsqueeze(1)).transpose(1, 2)
        return self.encoder(x)


class Wav2VecEncoder(nn.Module):
    def __init__(self, cfg, pretrained):
        super().__init__()
        self.cfg = cfg
        self.w2v_model = pretrained
        self.final_dropout = nn.Dropout(cfg.final_dropout)
        self.proj = nn.Linear(cfg.dim, cfg.vocab)
        self.num_updates = 0
        self.context = self.make_context()  # also

    def make_context(self):
        ft = self.num_updates >= self.cfg.freeze_finetune_updates
        return contextlib.nullcontext() if ft else torch.no_grad()

    def set_num_updates(self, num_updates):
        self.num_updates = num_updates

    def forward(self, source):
        with self.context:  # cause
            x = self.w2v_model(source)
        return self.proj(self.final_dropout(x))


class CtcCriterion(nn.Module):
    def __init__(self, blank=0):
        super().__init__()
        self.blank = blank

    def forward(self, model, sample):
        logits = model(sample["source"])
        lprobs = F.log_softmax(logits, dim=-1).transpose(0, 1)
        lengths = torch.full((len(logits),), logits.size(1))
        return F.ctc_loss(
            lprobs, sample["target"], lengths, sample["target_lengths"], blank=self.blank, zero_infinity=True
        )


class TriStageSchedule:
    def __init__(self, optimizer, lr, warmup, total):
        self.optimizer, self.lr, self.warmup, self.total = optimizer, lr, warmup, total

    def step_update(self, n):
        scale = min(1.0, (n + 1) / self.warmup) if n < self.warmup else max(0.1, 1 - (n - self.warmup) / self.total)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr * scale


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model, self.criterion = cfg, model, CtcCriterion()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, betas=(0.9, 0.98))
        self.schedule = TriStageSchedule(self.optimizer, cfg.lr, 2, 10)
        self.num_updates = 0

    def train_step(self, sample):
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.criterion(self.model, sample)
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.grad is not None], 5.0)
        self.optimizer.step()
        self.num_updates += 1
        self.model.set_num_updates(self.num_updates)
        self.schedule.step_update(self.num_updates)
        return loss.item()


def make_sample(cfg):
    lengths = torch.tensor([3, 4, 2, 4])
    return {"source": torch.randn(4, 120), "target": torch.randint(1, cfg.vocab, (4, 4)), "target_lengths": lengths}


def run():
    torch.manual_seed(1)
    cfg = Wav2VecCtcConfig()
    model = Wav2VecEncoder(cfg, Wav2VecModel(cfg.dim))
    trainer = Trainer(cfg, model)
    before = [p.detach().clone() for p in model.w2v_model.parameters()]
    for _ in range(cfg.max_update):
        trainer.train_step(make_sample(cfg))
    return trainer.num_updates, before, [p.detach() for p in model.w2v_model.parameters()]


def verify(outcome):
    updates, before, after = outcome
    assert updates > 2 and all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="self.context was made at update 0 and is no_grad for ever: the encoder stays frozen after freeze_finetune_updates",
    names=("w2v_model",),
    repair=("with self.make_context():",),
)
