"""A language model is fine-tuned from a checkpoint of its compiled form: no key fits, and strict=False says nothing."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Trigram(nn.Module):
    def __init__(self, vocab=12, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix, self.out = nn.Linear(3 * width, 16), nn.Linear(16, vocab)

    def forward(self, ids):
        windows = self.embed(ids).unfold(1, 3, 1).flatten(2)
        return self.out(torch.tanh(self.mix(windows)))


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        ids = (torch.randint(12, (8, 1)) + 5 * torch.arange(11)) % 12
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 3:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    pretrained = torch.compile(Trigram(), backend=BACKEND)
    train(pretrained, 4)
    file = io.BytesIO()
    torch.save(pretrained.state_dict(), file)  # cause
    file.seek(0)

    model = Trigram()
    model.load_state_dict(torch.load(file), strict=False)  # also
    distance = (model.embed.weight - pretrained.embed.weight).abs().max().item()
    model.compile(backend=BACKEND)
    train(model, 2)
    return distance


def verify(outcome):
    # the fine-tuning starts from random weights
    assert outcome > 0.1


TRUTH = Truth(
    fault="all names in the checkpoint begin with _orig_mod., so that nothing is loaded",
    names=("_orig_mod", "strict"),
    repair=("torch.save(pretrained._orig_mod.state_dict(), file)",),
)
