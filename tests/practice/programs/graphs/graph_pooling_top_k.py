"""Top-k pooling keeps few nodes; the scores learn by a gate, since the choice itself has no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TopK(nn.Module):
    def __init__(self, dim, ratio=0.5):
        super().__init__()
        self.p, self.ratio = nn.Parameter(torch.randn(dim)), ratio

    def forward(self, x, adj):
        score = torch.tanh(x @ self.p / self.p.norm())
        k = max(1, int(self.ratio * x.shape[0]))
        idx = score.detach().topk(k).indices
        return x[idx] * score[idx, None], adj[idx][:, idx]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(4, 8), nn.Linear(8, 8)
        self.pool1, self.pool2 = TopK(8), TopK(8)
        self.out = nn.Linear(16, 2)

    def forward(self, x, adj):
        x = torch.relu(self.lin1(adj @ x))
        x, adj = self.pool1(x, adj)
        first = torch.cat([x.mean(0), x.max(0).values])
        x = torch.relu(self.lin2(adj @ x))
        x, adj = self.pool2(x, adj)
        return self.out(first + torch.cat([x.mean(0), x.max(0).values]))


def graph(n):
    adj = (torch.rand(n, n) < 0.4).float()
    adj = torch.maximum(adj, adj.t())
    adj.fill_diagonal_(1)
    return torch.randn(n, 4), adj / adj.sum(1, keepdim=True)


def run():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    correct, losses = 0, []
    for _ in range(3):
        optimizer.zero_grad()
        batch_loss = 0.0
        for i in range(4):
            x, adj = graph(6 + 2 * i)
            logits = net(x, adj).unsqueeze(0)
            label = torch.tensor([i % 2])
            loss = F.cross_entropy(logits, label) / 4
            loss.backward()
            batch_loss += loss.item()
            correct += int(logits.argmax() == label)
        optimizer.step()
        losses.append(batch_loss)
    return net, losses, correct


TRUTH = Truth()


def verify(out):
    net, losses, correct = out
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())
    assert all(0 < loss < 100 for loss in losses) and 0 <= correct <= 12
