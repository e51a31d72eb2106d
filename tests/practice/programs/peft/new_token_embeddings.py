"""Instruction tuning with new chat tokens: old embedding rows get no gradient, yet AdamW's decay shrinks them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CHAT_TOKENS = ["<|user|>", "<|assistant|>", "<|end|>"]


class PretrainedLM(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layer = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def resize(self, vocab):
        old_embed, old_head = self.embed_tokens.weight.data, self.lm_head.weight.data
        self.embed_tokens = nn.Embedding(vocab, old_embed.size(1))
        self.lm_head = nn.Linear(old_head.size(1), vocab, bias=False)
        for new, old in ((self.embed_tokens.weight, old_embed), (self.lm_head.weight, old_head)):
            new.data[: len(old)] = old
            new.data[len(old) :] = old.mean(0)

    def forward(self, ids):
        return self.lm_head(self.layer(self.embed_tokens(ids))[0])


class LowRankDelta(nn.Module):
    """Trainable correction of the frozen head."""

    def __init__(self, head, rank=2):
        super().__init__()
        self.head = head
        self.down = nn.Linear(head.in_features, rank, bias=False)
        self.up = nn.Linear(rank, head.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, h):
        return self.head(h) + self.up(self.down(h))


def prepare(model, old_vocab):
    """Freeze everything but the adapter and the rows of the new tokens."""
    model.requires_grad_(False)
    model.lm_head = LowRankDelta(model.lm_head)
    model.lm_head.down.requires_grad_(True)
    model.lm_head.up.requires_grad_(True)
    weight = model.embed_tokens.weight
    weight.requires_grad_(True)
    mask = torch.zeros(len(weight), 1)
    mask[old_vocab:] = 1
    weight.register_hook(lambda grad: grad * mask)
    return [p for p in model.parameters() if p.requires_grad]


def chat_batch(old_vocab, n=6):
    user, assistant, end = range(old_vocab, old_vocab + 3)
    question, answer = torch.randint(0, old_vocab, (n, 4)), torch.randint(0, old_vocab, (n, 3))
    column = lambda t: torch.full((n, 1), t)  # noqa: E731
    ids = torch.cat([column(user), question, column(assistant), answer, column(end)], 1)
    labels = ids.clone()
    labels[:, :6] = -100
    return ids, labels


def run():
    torch.manual_seed(0)
    model, old_vocab = PretrainedLM(), 30
    model.resize(old_vocab + len(CHAT_TOKENS))
    trainable = prepare(model, old_vocab)
    optimizer = torch.optim.AdamW(trainable, lr=1e-2, weight_decay=0.1)  # cause
    before = model.embed_tokens.weight.detach().clone()
    for _ in range(4):
        ids, labels = chat_batch(old_vocab)
        logits = model(ids)[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (
        before[:old_vocab],
        model.embed_tokens.weight.detach()[:old_vocab],
        model.embed_tokens.weight.grad[:old_vocab],
    )


def verify(outcome):
    before, after, grad = outcome
    assert grad.eq(0).all()
    assert not torch.equal(before, after) and torch.allclose(after, before * (1 - 1e-3) ** 4, atol=1e-5)


TRUTH = Truth(
    fault="weight decay does not ask for a gradient: the rows masked by the hook shrink at every step",
    names=("embed_tokens", "weight_decay"),
    repair=("optimizer = torch.optim.AdamW(trainable, lr=1e-2, weight_decay=0.0)",),
)
