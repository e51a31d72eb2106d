"""Binary classifier with one output and softmax over that one column: the output is always 1 and every gradient is zero."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class ChurnNet(nn.Module):
    def __init__(self, n_num, n_cat, card=5):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(card, 3) for _ in range(n_cat)])
        self.bn = nn.BatchNorm1d(n_num)
        self.lin1 = nn.Linear(n_num + 3 * n_cat, 16)
        self.lin2 = nn.Linear(16, 1)

    def forward(self, num, cat):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embeddings)]
        x = torch.cat([self.bn(num), *e], dim=1)
        x = torch.relu(self.lin1(x))
        return torch.softmax(self.lin2(x), dim=1)  # cause


def fake_customers(n, seed):
    g = torch.Generator().manual_seed(seed)
    num = torch.randn(n, 4, generator=g)
    cat = torch.randint(0, 5, (n, 2), generator=g)
    label = ((num[:, 0] + cat[:, 0]) > 2).float().unsqueeze(1)
    return num, cat, label


def accuracy(p, y):
    return ((p > 0.5).float() == y).float().mean().item()


def run():
    torch.manual_seed(0)
    model = ChurnNet(4, 2)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    history = []
    for epoch in range(3):
        num, cat, label = fake_customers(30, epoch)
        optimizer.zero_grad()
        prob = model(num, cat)
        loss = criterion(prob, label)
        loss.backward()
        optimizer.step()
        total = sum(p.grad.abs().sum().item() for p in model.parameters())
        history.append((accuracy(prob, label), total))
    return history


def verify(history):
    assert all(total == 0 for _, total in history), history


TRUTH = Truth(
    fault="softmax over a dimension of size one is constantly 1, so all gradients are zero",
    names=("softmax",),
    repair=("return torch.sigmoid(self.lin2(x))",),
)
