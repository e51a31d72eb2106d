"""Active learning by BALD: the passes over the pool are made in evaluation mode, so they do not disagree at all."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, classes=3, p=0.3):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(p))
        self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(p), nn.Linear(16, classes))

    def forward(self, x):
        return self.head(self.stem(x))


class ActiveLearner:
    def __init__(self, x, y, initial=12, passes=8):
        self.x, self.y, self.passes = x, y, passes
        self.labelled = torch.zeros(len(x), dtype=torch.bool)
        self.labelled[torch.randperm(len(x))[:initial]] = True
        self.model = Classifier()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=5e-3, weight_decay=1e-4)

    def fit(self, epochs=5):
        self.model.train()
        x, y = self.x[self.labelled], self.y[self.labelled]
        for _ in range(epochs):
            self.opt.zero_grad(set_to_none=True)
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def bald(self, pool):
        """Mutual information between label and weights, by Monte Carlo dropout."""
        self.model.eval()  # cause
        probs = torch.stack([self.model(pool).softmax(-1) for _ in range(self.passes)])  # also
        mean = probs.mean(0)
        entropy = -(mean * mean.clamp_min(1e-9).log()).sum(-1)
        conditional = -(probs * probs.clamp_min(1e-9).log()).sum(-1).mean(0)
        return entropy - conditional  # symptom

    def query(self, k=4):
        candidates = (~self.labelled).nonzero().squeeze(1)
        scores = self.bald(self.x[candidates])
        self.labelled[candidates[scores.topk(k).indices]] = True
        return scores


def run():
    torch.manual_seed(0)
    x = torch.randn(60, 6)
    learner = ActiveLearner(x, (x[:, :3]).argmax(1))
    for cycle in range(3):
        loss = learner.fit()
        scores = learner.query()
        print(f"cycle {cycle} loss {loss:.4f} labelled {int(learner.labelled.sum())} best score {scores.max():.5f}")
    return scores


def verify(out):
    assert out.abs().max() < 1e-5


TRUTH = Truth(
    fault="Monte Carlo dropout with the dropout switched off",
    names=("eval", "Dropout"),
    repair=(
        "self.model.eval()\nfor module in self.model.modules():\n"
        "    if isinstance(module, nn.Dropout):\n        module.train()",
    ),
)
