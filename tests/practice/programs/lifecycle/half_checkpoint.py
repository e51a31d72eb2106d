"""Small checkpoints: model.half() for saving converts the model that is being trained."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        h = self.tok(ids)
        h = self.norm(h + F.gelu(self.mix(h)))
        return h @ self.tok.weight.T


class Checkpointer:
    def __init__(self, every=2):
        self.every, self.files = every, {}

    def __call__(self, step, model, optimizer):
        if step % self.every:
            return
        buffer = io.BytesIO()
        state = model.half().state_dict()  # cause
        torch.save({"step": step, "model": state, "optimizer": optimizer.state_dict()}, buffer)
        self.files[step] = buffer.getvalue()
        model.float()


def corpus(n):
    g = torch.Generator().manual_seed(1)
    return [torch.randint(0, 20, (4, 8), generator=g) for _ in range(n)]


def weights(model):
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def run():
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    save = Checkpointer()
    jumps = []
    for step, ids in enumerate(corpus(4), start=1):
        optimizer.zero_grad()
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
        before = weights(model)
        save(step, model, optimizer)
        jumps.append((weights(model) - before).abs().max().item())
    return jumps


def verify(outcome):
    # saving moves the weights by more than several steps do
    assert outcome[0] == 0 and outcome[1] > 1e-4


TRUTH = Truth(
    fault="model.half() rounds the live weights; float() afterwards does not bring the digits back",
    names=("half",),
    repair=("state = {k: v.half() for k, v in model.state_dict().items()}",),
)
