"""DQN: the target has a head of its own and reads the embedding of the online network; one loop averages both."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Q(nn.Module):
    def __init__(self, emb):
        super().__init__()
        self.emb, self.head = emb, nn.Linear(4, 3)

    def forward(self, i):
        return self.head(self.emb(i))


def run():
    torch.manual_seed(0)
    emb = nn.Embedding(7, 4)
    q, target = Q(emb), Q(emb)
    target.head.load_state_dict(q.head.state_dict())
    opt = torch.optim.Adam(q.parameters(), 1e-3)
    for _ in range(4):
        s, n = torch.randint(0, 7, (6,)), torch.randint(0, 7, (6,))
        a = torch.randint(0, 3, (6, 1))
        with torch.no_grad():
            y = 1 + 0.9 * target(n).max(1).values
        loss = F.mse_loss(q(s).gather(1, a)[:, 0], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, t in zip(q.parameters(), target.parameters()):
                t.lerp_(p, 0.01)


TRUTH = Truth()
