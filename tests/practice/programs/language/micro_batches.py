"""Instruction tuning with micro batches of very different answer lengths."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails

IGNORE = -100


def make_batch(lengths, seq=14, vocab=25):
    ids = torch.randint(0, vocab, (len(lengths), seq))
    labels = ids.clone()
    for row, n in enumerate(lengths):
        labels[row, : seq - n] = IGNORE
    return {"input_ids": ids, "labels": labels}


class Tuner:
    def __init__(self, model, accumulation_steps=4, lr=0.1):
        self.model = model
        self.accumulation_steps = accumulation_steps
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.last_grads = None

    def compute_loss(self, batch, num_items):
        logits = self.model(batch["input_ids"])[:, :-1]
        labels = batch["labels"][:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)  # also
        return loss / self.accumulation_steps  # cause

    def step(self, micro_batches):
        num_items = sum((b["labels"][:, 1:] != IGNORE).sum() for b in micro_batches)
        self.opt.zero_grad()
        for batch in micro_batches:
            self.compute_loss(batch, num_items).backward()
        self.last_grads = {n: p.grad.clone() for n, p in self.model.named_parameters()}
        self.opt.step()


def run():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Embedding(25, 12), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 25))
    start = {k: v.clone() for k, v in model.state_dict().items()}
    micro = [make_batch(lens) for lens in ((12, 11), (2, 1), (1, 3), (13, 2))]
    tuner = Tuner(model, accumulation_steps=len(micro))
    tuner.step(micro)
    return start, micro, tuner.last_grads


TRUTH = Truth(
    fault="mean over means: tokens of short micro batches weigh more than in one large batch",
    names=("accumulation_steps",),
    values=True,
    repair=("n = (labels != IGNORE).sum()\nreturn loss * n / num_items",),
)


def well(out):
    start, micro, grads = out
    model = nn.Sequential(nn.Embedding(25, 12), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 25))
    model.load_state_dict(start)
    ids = torch.cat([b["input_ids"] for b in micro])
    labels = torch.cat([b["labels"] for b in micro])
    F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE).backward()
    for n, p in model.named_parameters():
        assert torch.allclose(p.grad, grads[n], atol=1e-6), n


verify = fails(well)
