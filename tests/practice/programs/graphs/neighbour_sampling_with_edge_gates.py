"""GraphSAGE with learned edge gates: neighbours are sampled without grad, statistics are logged as numbers."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GatedSage(nn.Module):
    def __init__(self, din, dout):
        super().__init__()
        self.own = nn.Linear(din, dout)
        self.other = nn.Linear(din, dout, bias=False)
        self.gate = nn.Linear(2 * din, 1)

    def forward(self, x, edges):
        src, dst = edges
        gate = torch.sigmoid(self.gate(torch.cat([x[src], x[dst]], 1)))
        self.open = gate.detach().mean().item()
        degree = torch.zeros(len(x)).index_add_(0, dst, torch.ones(len(dst))).clamp_min_(1)
        pooled = torch.zeros(len(x), x.shape[1]).index_add(0, dst, gate * x[src])
        return self.own(x) + self.other(pooled / degree[:, None])


@torch.no_grad()
def sampled(model, x, edges, keep):
    scores = torch.sigmoid(model[0].gate(torch.cat([x[edges[0]], x[edges[1]]], 1))).squeeze(1)
    chosen = torch.multinomial(scores + 1e-3, keep)
    return edges[:, chosen]


def run():
    torch.manual_seed(0)
    x, y = torch.randn(30, 6), torch.randint(3, (30,))
    edges = torch.randint(30, (2, 120))
    model = nn.ModuleList([GatedSage(6, 16), GatedSage(16, 3)])
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    best = 0.0
    for epoch in range(3):
        model.train()
        some = sampled(model, x, edges, 60)
        h = F.dropout(F.relu(model[0](x, some)), 0.3, training=True)
        loss = F.cross_entropy(model[1](h, some), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            logits = model[1](F.relu(model[0](x, edges)), edges)
        best = max(best, (logits.argmax(1) == y).float().mean().item())
        print(f"epoch {epoch} loss {loss.item():.3f} best {best:.2f} open {model[0].open:.2f}")


TRUTH = Truth()
