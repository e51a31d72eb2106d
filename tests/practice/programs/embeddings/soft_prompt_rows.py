"""Prompt tuning: the virtual tokens are copied into the frozen table by `.data`, so the prompt gets no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FrozenLM(nn.Module):
    def __init__(self, vocab=24, dim=12):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(16, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.decode(self.wte(ids))

    def decode(self, h):
        h = h + self.pos(torch.arange(h.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(h.shape[1])
        return self.head(self.layer(h, src_mask=mask, is_causal=True))


class PromptTuning(nn.Module):
    def __init__(self, lm, virtual=3, classes=2):
        super().__init__()
        self.lm = lm.requires_grad_(False)
        self.ids = torch.arange(virtual)  # rows kept free for virtual tokens
        self.prompt = nn.Parameter(lm.wte.weight[self.ids + virtual].detach().clone())
        self.verbaliser = nn.Linear(24, classes)

    def forward(self, ids):
        self.lm.wte.weight.data[self.ids] = self.prompt.data  # also
        inputs = self.lm.wte(torch.cat([self.ids.expand(len(ids), -1), ids], dim=1))  # cause
        logits = self.lm.decode(inputs)
        return self.verbaliser(logits[:, -1])


def batches(n=3):
    for _ in range(n):
        ids = torch.randint(6, 24, (8, 5))
        yield ids, (ids[:, 0] > 14).long()


def run():
    torch.manual_seed(0)
    model = PromptTuning(FrozenLM())
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    print("training", {n: p.numel() for n, p in trainable.items()})
    opt = torch.optim.AdamW(trainable.values(), lr=0.3)
    for step, (ids, y) in enumerate(batches()):
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return model


def verify(out):
    assert out.prompt.grad is None


TRUTH = Truth(
    fault="the prompt enters the model by its values only",
    names=("prompt",),
    repair=("inputs = torch.cat([self.prompt.expand(len(ids), -1, -1), self.lm.wte(ids)], dim=1)",),
)
