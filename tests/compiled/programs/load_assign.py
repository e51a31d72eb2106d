"""Loads a checkpoint into a tied model made on the meta device, then compiles it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class TiedLM(nn.Module):
    def __init__(self, vocab=12, d=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.block = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU())
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.tie()

    def tie(self):
        self.lm_head.weight = self.wte.weight

    def forward(self, t):
        h = self.wte(t)
        return self.lm_head(h + self.block(h))


def from_checkpoint(state):
    with torch.device("meta"):
        model = TiedLM()
    model.load_state_dict(state, assign=True)  # cause
    return model


def run():
    torch.manual_seed(0)
    state = {k: v.clone() for k, v in TiedLM().state_dict().items()}
    model = from_checkpoint(state)
    lm = torch.compile(model, backend=BACKEND, dynamic=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        t = torch.randint(0, 12, (4, 7))
        loss = F.cross_entropy(lm(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def right(model):
    assert torch.equal(model.wte.weight, model.lm_head.weight), "the tie is gone"


TRUTH = Truth(
    fault="assign=True puts two separate parameters where one was shared",
    names=("wte.weight", "lm_head.weight"),
    repair=("model.load_state_dict(state, assign=True)\nmodel.tie()",),
)
