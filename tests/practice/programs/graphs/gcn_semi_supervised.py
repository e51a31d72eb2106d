"""A GCN on one graph: adjacency is a constant, most nodes have no label, and tests run without a gradient."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GraphConvolution(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(fin, fout))
        self.bias = nn.Parameter(torch.empty(fout))
        stdv = 1.0 / math.sqrt(fout)
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, torch.mm(x, self.weight)) + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(nfeat, nhid), GraphConvolution(nhid, nclass)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.3, self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def normalised(edges, n):
    a = torch.eye(n)
    a[edges[0], edges[1]] = 1
    a[edges[1], edges[0]] = 1
    d = a.sum(1).pow(-0.5)
    return (d[:, None] * a * d[None]).to_sparse()


def run():
    torch.manual_seed(0)
    n = 20
    adj = normalised(torch.randint(n, (2, 40)), n)
    features, labels = torch.rand(n, 6), torch.randint(3, (n,))
    features.div_(features.sum(1, keepdim=True))
    idx_train, idx_val = torch.arange(6), torch.arange(6, 12)
    model = GCN(6, 8, 3)
    optimizer = torch.optim.Adam(
        [{"params": model.gc1.parameters(), "weight_decay": 5e-4}, {"params": model.gc2.parameters()}], lr=0.01
    )
    log, best, wait = [], math.inf, 0
    for epoch in range(4):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss_train = F.nll_loss(output[idx_train], labels[idx_train])
        loss_train.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            val = F.nll_loss(model(features, adj)[idx_val], labels[idx_val]).item()
        best, wait = (val, 0) if val < best else (best, wait + 1)
        log.append((loss_train.item(), val))
    return model, log, best


TRUTH = Truth()


def verify(out):
    model, log, best = out
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert 0 < best < 100 and not model.training and len(log) == 4
