"""pyGAT: every attention head is registered under the same name, so only the last one trains."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, dropout, alpha, concat=True):
        super().__init__()
        self.dropout = dropout
        self.out_features = out_features
        self.concat = concat
        self.W = nn.Parameter(torch.empty(in_features, out_features))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(2 * out_features, 1))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        f1 = torch.matmul(Wh, self.a[: self.out_features, :])
        f2 = torch.matmul(Wh, self.a[self.out_features :, :])
        e = self.leakyrelu(f1 + f2.T)
        attention = torch.where(adj > 0, e, -9e15 * torch.ones_like(e))
        attention = F.dropout(F.softmax(attention, dim=1), self.dropout, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout, alpha, nheads):
        super().__init__()
        self.dropout = dropout
        self.attentions = [GraphAttentionLayer(nfeat, nhid, dropout, alpha) for _ in range(nheads)]
        for attention in self.attentions:
            self.add_module("attention", attention)  # cause
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, dropout, alpha, concat=False)

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(F.elu(self.out_att(x, adj)), dim=1)


def load_data(n=20, nfeat=12, nclass=3):
    features = torch.rand(n, nfeat)
    adj = (torch.rand(n, n) < 0.2).float()
    adj = ((adj + adj.T + torch.eye(n)) > 0).float()
    return features, adj, torch.randint(0, nclass, (n,)), torch.arange(12)


def run():
    torch.manual_seed(72)
    features, adj, labels, idx_train = load_data()
    model = GAT(nfeat=12, nhid=4, nclass=3, dropout=0.3, alpha=0.2, nheads=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    start = [att.W.detach().clone() for att in model.attentions]
    for _ in range(3):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss_train = F.nll_loss(output[idx_train], labels[idx_train])
        loss_train.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            F.nll_loss(model(features, adj)[12:], labels[12:])
    return [not torch.equal(s, att.W) for s, att in zip(start, model.attentions)]


def verify(outcome):
    assert outcome == [False, False, True], outcome


TRUTH = Truth(
    fault="add_module() under one name replaces the head before: the others are not in the optimizer",
    names=("attention",),
    repair=('self.add_module(f"attention_{id(attention)}", attention)',),
)
