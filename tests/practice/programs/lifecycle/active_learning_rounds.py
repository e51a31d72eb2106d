"""Active learning: acquisition puts the model into eval and the later rounds train without dropout and BatchNorm."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class SensorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 3))

    def forward(self, x):
        return self.net(x)


class Pool:
    def __init__(self, n=60):
        self.x = torch.randn(n, 9)
        self.y = self.x[:, :3].argmax(1)
        self.labelled = torch.zeros(n, dtype=torch.bool)
        self.labelled[:16] = True

    def loader(self):
        data = TensorDataset(self.x[self.labelled], self.y[self.labelled])
        return DataLoader(data, batch_size=8, shuffle=True, drop_last=True)

    def label(self, scores, k):
        scores = scores.masked_fill(self.labelled, -1.0)
        self.labelled[scores.topk(k).indices] = True


@torch.no_grad()
def entropy(model, x):
    model.eval()  # also
    p = model(x).softmax(-1)
    return -(p * p.clamp_min(1e-9).log()).sum(-1)


def train_round(model, optimizer, loader):
    for x, y in loader:  # cause
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    pool = Pool()
    model = SensorNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    seen = []
    for _ in range(3):
        train_round(model, optimizer, pool.loader())  # also
        seen.append(model.net[1].num_batches_tracked.item())
        pool.label(entropy(model, pool.x), k=8)
    return seen


def verify(outcome):
    assert outcome[0] == 2 and outcome[1] == outcome[2] == 2


TRUTH = Truth(
    fault="entropy() calls model.eval() and nobody goes back to train(): rounds two and three train in eval mode",
    names=("eval",),
    repair=("model.train()\nfor x, y in loader:",),
)
