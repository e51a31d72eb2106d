"""RLHF: the reference policy is a shallow copy, so it moves with the policy."""

import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class DPOConfig:
    beta: float = 0.5
    learning_rate: float = 1e-2
    max_steps: int = 4
    batch_size: int = 6
    vocab: int = 14
    label_pad_token_id: int = -100
    precompute_ref_log_probs: bool = False


class LM(nn.Module):
    def __init__(self, vocab, d=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        return self.lm_head(self.rnn(self.embed(ids))[0])


def create_reference_model(model):
    """Frozen counterpart of the policy; the weights need not be held twice."""
    reference = copy.copy(model)  # cause
    return reference


class PreferenceData:
    def __init__(self, cfg, n=24):
        self.prompt = torch.randint(1, cfg.vocab, (n, 3))
        self.chosen = torch.randint(1, cfg.vocab // 2, (n, 4))
        self.rejected = torch.randint(cfg.vocab // 2, cfg.vocab, (n, 4))
        self.pad = cfg.label_pad_token_id

    def batch(self, i):
        out = {}
        for side in ("chosen", "rejected"):
            answer = getattr(self, side)[i]
            ids = torch.cat([self.prompt[i], answer], dim=1)
            labels = ids.clone()
            labels[:, : self.prompt.size(1)] = self.pad
            out[side] = (ids, labels)
        return out


class DPOTrainer:
    def __init__(self, model, ref_model, cfg):
        self.model, self.cfg = model, cfg
        self.ref_model = ref_model if ref_model is not None else create_reference_model(model)
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg.learning_rate)
        self.metrics = []

    def get_batch_logps(self, logits, labels):
        labels = labels[:, 1:].clone()
        logits = logits[:, :-1]
        mask = labels != self.cfg.label_pad_token_id
        labels[~mask] = 0
        logps = logits.log_softmax(-1).gather(2, labels.unsqueeze(2)).squeeze(2)
        return (logps * mask).sum(-1)

    def concatenated_forward(self, model, batch):
        ids = torch.cat([batch["chosen"][0], batch["rejected"][0]])
        labels = torch.cat([batch["chosen"][1], batch["rejected"][1]])
        return self.get_batch_logps(model(ids), labels).chunk(2)

    def dpo_loss(self, pc, pr, rc, rr):
        logits = (pc - pr) - (rc - rr)
        losses = -F.logsigmoid(self.cfg.beta * logits)
        return losses, self.cfg.beta * (pc - rc).detach(), self.cfg.beta * (pr - rr).detach()

    def compute_loss(self, batch):
        policy = self.concatenated_forward(self.model, batch)
        with torch.no_grad():
            reference = self.concatenated_forward(self.ref_model, batch)
        losses, chosen, rejected = self.dpo_loss(*policy, *reference)
        self.metrics.append({"loss": losses.mean().item(), "margin": (chosen - rejected).mean().item()})
        return losses.mean()

    def train(self, data):
        for _ in range(self.cfg.max_steps):
            batch = data.batch(torch.randint(24, (self.cfg.batch_size,)))
            loss = self.compute_loss(batch)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
            self.optimizer.step()
        return self.metrics


def run():
    torch.manual_seed(0)
    cfg = DPOConfig()
    trainer = DPOTrainer(LM(cfg.vocab), None, cfg)
    return trainer.train(PreferenceData(cfg))


def verify(metrics):
    assert all(abs(m["margin"]) < 1e-6 for m in metrics)


TRUTH = Truth(
    fault="copy.copy shares all parameters: the reference is the policy itself, the margin is zero for ever",
    names=("ref_model",),
    repair=("reference = copy.deepcopy(model).requires_grad_(False)",),
)
