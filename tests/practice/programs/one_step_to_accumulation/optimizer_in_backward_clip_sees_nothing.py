"""One step to many: the step moved into post-accumulate hooks to save memory; clip_grad_norm_ still stands after backward, where no gradient is left."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CONFIG = {"lr": 0.5, "max_norm": 0.05, "steps": 3}


class Decoder(nn.Module):
    def __init__(self, vocab=24, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(self.norm(x + F.gelu(self.mix(x))))


class InBackwardOptimizer:
    """One small optimizer per parameter; a gradient lives only until it is used."""

    def __init__(self, model, lr):
        self.optimizers = {p: torch.optim.SGD([p], lr=lr) for p in model.parameters()}
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(self.hook)

    def hook(self, p):
        self.optimizers[p].step()  # cause
        self.optimizers[p].zero_grad(set_to_none=True)


def train_step(model, tokens, norms):
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), CONFIG["max_norm"])))  # also


def run():
    torch.manual_seed(0)
    model = Decoder()
    InBackwardOptimizer(model, CONFIG["lr"])
    norms, moves = [], []
    for _ in range(CONFIG["steps"]):
        before = model.head.weight.detach().clone()
        train_step(model, torch.randint(0, 24, (4, 8)), norms)
        moves.append(float((model.head.weight.detach() - before).norm()))
    return norms, moves


def verify(outcome):
    norms, moves = outcome
    assert max(norms) == 0.0 and max(moves) > CONFIG["lr"] * CONFIG["max_norm"] * 1.01


TRUTH = Truth(
    fault="gradients are clipped after they were used and freed by the hooks: the clipping finds none",
    names=("clip_grad_norm_",),
    repair=('nn.utils.clip_grad_norm_([p], CONFIG["max_norm"])\nself.optimizers[p].step()',),
)
