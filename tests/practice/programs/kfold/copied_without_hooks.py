"""Cross-validation on copies of a model: deepcopy() drops the hook that keeps the known rows of the embedding as they are."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

KNOWN = 20  # rows with pretrained vectors; the others are new words


class GradMask:
    def __init__(self, rows):
        self.rows = rows

    def __call__(self, grad):
        grad = grad.clone()
        grad[: self.rows] = 0
        return grad


class IntentClassifier(nn.Module):
    def __init__(self, vocab=26, dim=8, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.classify = nn.Linear(dim, classes)

    def keep_pretrained(self, vectors):
        with torch.no_grad():
            self.embedding.weight[: len(vectors)] = vectors
        self.embedding.weight.register_hook(GradMask(len(vectors)))
        return self

    def forward(self, ids):
        return self.classify(self.encoder(self.embedding(ids))[1][0])


def folds(n, k):
    order = torch.arange(n)
    for i in range(k):
        held = order % k == i
        yield order[~held], order[held]


def fit(model, ids, labels, epochs=2):
    decayed = [p for n, p in model.named_parameters() if "embedding" not in n]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": model.embedding.parameters(), "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    model.train()
    for _ in range(epochs):
        for rows in torch.arange(len(ids)).split(4):
            optimizer.zero_grad()
            F.cross_entropy(model(ids[rows]), labels[rows]).backward()
            optimizer.step()
    return model


def cross_validate(template, ids, labels, k=3):
    scores, models = [], []
    for train, held in folds(len(ids), k):
        model = copy.deepcopy(template)  # cause
        fit(model, ids[train], labels[train])
        model.eval()
        with torch.no_grad():
            scores.append((model(ids[held]).argmax(1) == labels[held]).float().mean().item())
        models.append(model)
    return scores, models


def run():
    torch.manual_seed(0)
    vectors = torch.randn(KNOWN, 8)
    template = IntentClassifier().keep_pretrained(vectors)
    ids, labels = torch.randint(0, 26, (12, 5)), torch.randint(0, 3, (12,))
    _, models = cross_validate(template, ids, labels)
    return [torch.equal(m.embedding.weight[:KNOWN].detach(), vectors) for m in models]


def verify(outcome):
    assert outcome == [False, False, False], outcome


TRUTH = Truth(
    fault="copy.deepcopy() does not copy the hooks of a tensor: the pretrained rows are trained in every fold",
    names=("embedding", "deepcopy"),
    repair=("model = copy.deepcopy(template)\nmodel.embedding.weight.register_hook(GradMask(KNOWN))",),
)
