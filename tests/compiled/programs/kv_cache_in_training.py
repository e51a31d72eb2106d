"""Training through a cache of keys: the next step's key is written into the tensor that a compiled step has saved."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ()
RAISES = "modified by an inplace operation"


def setup():
    global key, query, optimizer, attend
    torch.manual_seed(0)
    key, query = nn.Linear(4, 8), nn.Linear(4, 8)
    optimizer = torch.optim.AdamW([*key.parameters(), *query.parameters()])

    @torch.compile(backend=BACKEND, dynamic=True)
    def attend(q, keys):
        scores = torch.einsum("bd,btd->bt", q, keys) / 8**0.5
        return torch.einsum("bt,btd->bd", scores.softmax(-1), keys)


def run():
    x = torch.randn(3, 5, 4)
    cache, out = torch.zeros(3, 5, 8), []
    for t in range(5):
        cache[:, t] = key(x[:, t])  # cause
        out.append(attend(query(x[:, t]), cache[:, : t + 1]))
    loss = torch.stack(out).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
