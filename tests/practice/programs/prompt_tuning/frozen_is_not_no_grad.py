"""Prompt tuning: the frozen language model runs under no_grad, so the prompt in front of it learns nothing; only the verbaliser does."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FrozenLM(nn.Module):
    def __init__(self, vocab=32, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, inputs_embeds):
        return self.layers(inputs_embeds)


class PromptTuned(nn.Module):
    def __init__(self, lm, length=4, classes=2):
        super().__init__()
        self.lm = lm.requires_grad_(False).eval()
        self.prompt = nn.Parameter(0.5 * torch.randn(length, lm.embed.embedding_dim))
        self.verbaliser = nn.Linear(lm.embed.embedding_dim, classes)

    def forward(self, ids):
        words = self.lm.embed(ids)
        inputs = torch.cat([self.prompt.expand(ids.size(0), -1, -1), words], dim=1)
        with torch.no_grad():  # the language model is frozen  # cause
            hidden = self.lm(inputs)
        return self.verbaliser(hidden.mean(1))


def reviews(n):
    ids = torch.randint(32, (n, 7))
    return ids, (ids.float().mean(1) > 15.5).long()


def run():
    torch.manual_seed(0)
    model = PromptTuned(FrozenLM())
    optimizer = torch.optim.AdamW(
        [{"params": [model.prompt], "lr": 0.3, "weight_decay": 0.0}, {"params": model.verbaliser.parameters()}], lr=1e-2
    )
    ids, label = reviews(32)
    start = model.prompt.detach().clone()
    losses = []
    for _ in range(4):
        loss = F.cross_entropy(model(ids), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return start, model.prompt.detach(), losses


def verify(outcome):
    start, prompt, _ = outcome
    assert torch.equal(start, prompt)


TRUTH = Truth(
    fault="no_grad around the frozen model cuts the prompt off",
    names=("prompt", "no_grad"),
    repair=("if True:",),
)
