"""A draft model uses the frozen head of its target with a graph, and is unrolled on its own features."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Target(nn.Module):
    def __init__(self, vocab=14, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, 2, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    @torch.no_grad()
    def features(self, ids):
        return self.rnn(self.embed(ids))[0]


def run():
    torch.manual_seed(0)
    target = Target().eval()
    for p in target.parameters():
        p.requires_grad = False
    fuse, layer = nn.Linear(16, 8), nn.GRU(8, 8, batch_first=True)
    params = [*fuse.parameters(), *layer.parameters()]
    opt = torch.optim.AdamW(params, lr=1e-2)
    for _ in range(3):
        ids = torch.randint(14, (4, 8))
        features = target.features(ids)
        loss, state = 0.0, features[:, :-2]
        for ahead in (1, 2):
            x = torch.cat([state, target.embed(ids[:, ahead : ids.size(1) - 2 + ahead])], -1)
            state = layer(fuse(x))[0]
            goal = features[:, ahead : ids.size(1) - 2 + ahead]
            with torch.no_grad():
                teacher = target.lm_head(goal).softmax(-1)
            likelihood = -(teacher * target.lm_head(state).log_softmax(-1)).sum(-1).mean()
            loss = loss + 0.5**ahead * (F.smooth_l1_loss(state, goal) + 0.1 * likelihood)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(params, 0.5)
        opt.step()
    return params, target


def verify(out):
    assert all(p.grad is not None for p in out[0]) and all(p.grad is None for p in out[1].parameters())


TRUTH = Truth()
