"""Image features shall take the place of the image tokens; masked_scatter returns the new tensor, and nobody takes it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

IMAGE = 11


class Llava(nn.Module):
    def __init__(self, vocab=12, dim=8, patches=3):
        super().__init__()
        self.vision = nn.Sequential(nn.Linear(6, dim), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        self.vision.requires_grad_(False)

    def splice(self, ids, images):
        embeds = self.embed(ids)
        with torch.no_grad():
            seen = self.vision(images)
        seen = self.projector(seen)
        where = (ids == IMAGE).unsqueeze(-1).expand_as(embeds)
        embeds.masked_scatter(where, seen)  # cause
        return embeds

    def forward(self, ids, images, labels):
        logits = self.head(self.rnn(self.splice(ids, images))[0])
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


def run():
    torch.manual_seed(0)
    model = Llava()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(3):
        ids = torch.randint(11, (2, 8))
        ids[:, 1:4] = IMAGE
        labels = ids.masked_fill(ids == IMAGE, -100)
        loss = model(ids, torch.randn(2, 3, 6), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def verify(model):
    assert model.projector[0].weight.grad is None


TRUTH = Truth(
    fault="the result of masked_scatter is dropped, so the projector takes no part",
    names=("masked_scatter",),
    repair=("embeds = embeds.masked_scatter(where, seen)",),
)
