"""Active learning: model and optimizer are built afresh in each round, scores are taken under no_grad with dropout on purpose. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CellClassifier(nn.Module):
    def __init__(self, genes=10, types=3, p=0.3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(genes, 24), nn.ReLU(), nn.Dropout(p))
        self.head = nn.Linear(24, types)

    def forward(self, x):
        return self.head(self.body(x))


class Pool:
    def __init__(self, x, y, start):
        self.x, self.y = x, y
        self.labelled = torch.zeros(len(x), dtype=torch.bool)
        self.labelled[:start] = True

    def ask(self, score, k):
        score = score.masked_fill(self.labelled, float("-inf"))
        self.labelled[score.topk(k).indices] = True


@torch.no_grad()
def bald(model, x, draws=8):
    """Mutual information of prediction and weights, by dropout left on (Gal et al. 2017)."""
    model.train()
    p = torch.stack([model(x).softmax(-1) for _ in range(draws)])
    entropy = -(p.mean(0) * p.mean(0).log()).sum(-1)
    return entropy + (p * p.log()).sum(-1).mean(0)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(-1) == y).float().mean().item()


def fit(pool, steps=4):
    model = CellClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    start = [p.detach().clone() for p in model.parameters()]
    model.train()
    x, y = pool.x[pool.labelled], pool.y[pool.labelled]
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    moved = all(not torch.equal(a, b) for a, b in zip(start, model.parameters()))
    return model, moved


def run():
    torch.manual_seed(0)
    x = torch.randn(80, 10)
    y = x[:, :3].argmax(1)
    pool = Pool(x, y, start=12)
    results = []
    for _ in range(2):
        model, moved = fit(pool)
        pool.ask(bald(model, pool.x), k=8)
        results.append((moved, accuracy(model, x, y)))
    return results, int(pool.labelled.sum())


def verify(outcome):
    results, labelled = outcome
    assert all(moved for moved, _ in results)
    assert labelled == 28
    assert min(a for _, a in results) > 0.34


TRUTH = Truth()
