"""Sequence model with clipping: the filter of trainable parameters was used up by the optimizer, clipping sees none."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class CharTokenizer:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.index = {c: i for i, c in enumerate(self.chars)}

    def encode(self, text):
        return torch.tensor([self.index[c] for c in text])


class Seq2Seq(nn.Module):
    """Reads a word and writes it backwards."""

    def __init__(self, vocab, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.LSTM(dim, dim, batch_first=True)
        self.decoder = nn.LSTM(dim, dim, batch_first=True)
        self.attn = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(2 * dim, vocab)

    def forward(self, source, target_in):
        memory, state = self.encoder(self.embed(source))
        hidden, _ = self.decoder(self.embed(target_in), state)
        score = self.attn(hidden) @ memory.transpose(1, 2)
        context = score.softmax(-1) @ memory
        return self.out(torch.cat([hidden, context], -1))


def make_batch(tokenizer, text, n=8, length=6):
    starts = torch.randint(0, len(text) - length, (n,)).tolist()
    source = torch.stack([tokenizer.encode(text[s : s + length]) for s in starts])
    target = source.flip(1)
    target_in = torch.cat([source[:, -1:], target[:, :-1]], 1)
    return source, target_in, target


class Trainer:
    def __init__(self, model, lr=1.0, clip=0.05):
        self.model, self.clip = model, clip
        self.params = filter(lambda p: p.requires_grad, model.parameters())  # cause
        self.optimizer = torch.optim.SGD(self.params, lr=lr)
        self.history = []

    def step(self, source, target_in, target):
        logits = self.model(source, target_in)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, self.clip)  # also
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        self.history.append(torch.stack([g.norm() for g in grads]).norm().item())
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    text = "the quick brown fox jumps over the lazy dog and runs away "
    tokenizer = CharTokenizer(text)
    model = Seq2Seq(len(tokenizer.chars))
    model.embed.weight.requires_grad_(False)
    trainer = Trainer(model)
    for _ in range(4):
        trainer.step(*make_batch(tokenizer, text))
    return trainer.clip, trainer.history


def verify(outcome):
    clip, norms = outcome
    assert all(norm > 2 * clip for norm in norms)


TRUTH = Truth(
    fault="filter() is an iterator: after the optimizer was built it is empty, and nothing is clipped",
    names=("clip_grad_norm_", "params"),
    repair=("self.params = [p for p in model.parameters() if p.requires_grad]",),
)
