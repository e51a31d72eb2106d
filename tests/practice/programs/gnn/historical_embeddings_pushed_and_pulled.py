"""GNNAutoScale: neighbours outside the batch come from a stale history buffer, pushed in place under no_grad while the graph lives."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

N = 12


class Gcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(5, 8), nn.Linear(8, 3)
        self.register_buffer("history", torch.zeros(N, 8))

    def push_and_pull(self, h, batch):
        with torch.no_grad():
            self.history[batch] = h.detach()
        pulled = self.history.clone()
        return pulled.index_copy(0, batch, h)  # fresh rows with gradient, stale rows without

    def forward(self, x, adj, batch):
        h = F.relu(self.lin1((adj @ x)[batch]))
        full = self.push_and_pull(h, batch)
        return self.lin2(adj[batch] @ full)


def graph():
    g = torch.Generator().manual_seed(6)
    a = (torch.rand(N, N, generator=g) < 0.3).float()
    a = ((a + a.T + torch.eye(N)) > 0).float()
    d = a.sum(1).rsqrt()
    return torch.randn(N, 5, generator=g), d[:, None] * a * d[None], torch.randint(3, (N,), generator=g)


def run():
    torch.manual_seed(0)
    x, adj, y = graph()
    model = Gcn()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    log = []
    for epoch in range(2):
        for batch in torch.randperm(N).split(5):  # 5, 5 and 2 nodes
            state = {k: v.clone() for k, v in model.state_dict().items()}
            loss = F.cross_entropy(model(x, adj, batch), y[batch])
            opt.zero_grad()
            loss.backward()
            log.append((batch, state, [p.grad.clone() for p in model.parameters()]))
            opt.step()
    model.eval()
    with torch.no_grad():
        final = model(x, adj, torch.arange(N))
    return model, log, final


def verify(outcome):
    model, log, final = outcome
    x, adj, y = graph()
    for batch, s, grads in log:
        p = [s[k].clone().requires_grad_() for k in ("lin1.weight", "lin1.bias", "lin2.weight", "lin2.bias")]
        inside = torch.zeros(N, 1)
        inside[batch] = 1
        fresh = (adj @ x @ p[0].T + p[1]).relu()
        mixed = inside * fresh + (1 - inside) * s["history"]
        logits = (adj @ mixed @ p[2].T + p[3])[batch]
        for a, b in zip(torch.autograd.grad(F.cross_entropy(logits, y[batch]), p), grads):
            assert torch.allclose(a, b, atol=1e-6) and b.any()
    exact = adj @ (adj @ x @ model.lin1.weight.T + model.lin1.bias).relu() @ model.lin2.weight.T + model.lin2.bias
    assert torch.allclose(exact, final, atol=1e-5)
    assert all(not torch.equal(v, log[0][1][k]) for k, v in model.state_dict().items())


TRUTH = Truth()
