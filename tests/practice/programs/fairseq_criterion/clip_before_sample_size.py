"""fairseq-like: the summed loss is clipped first and divided by the number of tokens afterwards."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TransformerModel(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim, padding_idx=1)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)])
        self.output_projection = nn.Linear(dim, vocab, bias=False)

    def forward(self, src_tokens):
        x = self.embed_tokens(src_tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output_projection(x)


class LabelSmoothedCrossEntropy:
    padding_idx = 1

    def __call__(self, model, sample):
        logits = model(sample["src_tokens"])
        target = sample["target"]
        loss = F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=self.padding_idx, label_smoothing=0.1, reduction="sum"
        )
        return loss, int(target.ne(self.padding_idx).sum())


class FairseqSGD:
    def __init__(self, params, lr):
        self.params = list(params)
        self._optimizer = torch.optim.SGD(self.params, lr=lr)

    def multiply_grads(self, c):
        for p in self.params:
            if p.grad is not None:
                p.grad.mul_(c)

    def clip_grad_norm(self, max_norm):
        return nn.utils.clip_grad_norm_(self.params, max_norm)

    def grad_norm(self):
        return math.sqrt(sum(float(p.grad.pow(2).sum()) for p in self.params if p.grad is not None))

    def step(self):
        self._optimizer.step()

    def zero_grad(self):
        self._optimizer.zero_grad()


class Trainer:
    def __init__(self, model, criterion, optimizer, update_freq=2, clip_norm=1.0):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer
        self.update_freq, self.clip_norm = update_freq, clip_norm

    def train_step(self, samples):
        self.model.train()
        self.optimizer.zero_grad()
        sample_size = 0
        for sample in samples:
            loss, n = self.criterion(self.model, sample)
            loss.backward()
            sample_size += n
        raw_norm = self.optimizer.clip_grad_norm(self.clip_norm)  # cause
        self.optimizer.multiply_grads(1.0 / sample_size)  # cause
        stepped_norm = self.optimizer.grad_norm()
        self.optimizer.step()
        return float(raw_norm), stepped_norm, sample_size


def samples(n):
    for _ in range(n):
        tokens = torch.randint(2, 30, (4, 10))
        tokens[:2, 7:] = 1
        yield {"src_tokens": tokens, "target": tokens.roll(-1, 1)}


def run():
    torch.manual_seed(0)
    model = TransformerModel()
    trainer = Trainer(model, LabelSmoothedCrossEntropy(), FairseqSGD(model.parameters(), lr=0.5))
    return [trainer.train_step(list(samples(trainer.update_freq))) for _ in range(3)]


def verify(outcome):
    for raw, stepped, n in outcome:
        assert raw > 10.0  # a sum over tokens is always over the threshold ...
        assert stepped < 1.5 / n  # ... so that what is stepped is 1 / n, whatever the gradient was


TRUTH = Truth(
    fault="clip_grad_norm_ works on the gradient of the summed loss, and multiply_grads divides the clipped one by sample_size again",
    names=("clip_grad_norm_",),
    repair=(
        "self.optimizer.multiply_grads(1.0 / sample_size)",
        "raw_norm = self.optimizer.clip_grad_norm(self.clip_norm)",
    ),
)
