"""Text CNN on GloVe vectors: Embedding.from_pretrained() freezes by default, and the tuned channel stands still."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Vocab:
    def __init__(self, words):
        self.itos = ["<pad>", "<unk>"] + words
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def load_vectors(self, dim):
        g = torch.Generator().manual_seed(11)  # glove.6B.50d
        vectors = torch.randn(len(self.itos), dim, generator=g) * 0.3
        vectors[0] = 0.0
        return vectors

    def numericalise(self, texts, length):
        rows = [[self.stoi.get(w, 1) for w in t.split()][:length] for t in texts]
        return torch.tensor([r + [0] * (length - len(r)) for r in rows])


class KimCNN(nn.Module):
    """CNN-multichannel: one static copy of the vectors, one that is tuned."""

    def __init__(self, vectors, n_filters=4, filter_sizes=(2, 3), n_classes=2, dropout=0.3):
        super().__init__()
        dim = vectors.size(1)
        self.static = nn.Embedding.from_pretrained(vectors, freeze=True, padding_idx=0)
        self.tuned = nn.Embedding.from_pretrained(vectors.clone(), padding_idx=0)  # cause
        self.convs = nn.ModuleList([nn.Conv2d(2, n_filters, (k, dim)) for k in filter_sizes])
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(n_filters * len(filter_sizes), n_classes)

    def forward(self, ids):
        x = torch.stack((self.static(ids), self.tuned(ids)), 1)
        pooled = [F.relu(conv(x)).squeeze(3).max(2)[0] for conv in self.convs]
        return self.fc(self.dropout(torch.cat(pooled, 1)))


def train_epoch(model, optimizer, criterion, iterator):
    model.train()
    for ids, labels in iterator:
        optimizer.zero_grad()
        loss = criterion(model(ids), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 3.0)
        optimizer.step()


TEXTS = ["a fine film and a good cast", "a bad film with a dull plot", "good plot fine cast", "dull and bad"]


def run():
    torch.manual_seed(0)
    vocab = Vocab(sorted({w for t in TEXTS for w in t.split()}))
    model = KimCNN(vocab.load_vectors(8))
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    criterion = nn.CrossEntropyLoss()
    ids, labels = vocab.numericalise(TEXTS, 7), torch.tensor([1, 0, 1, 0])
    for _ in range(3):
        train_epoch(model, optimizer, criterion, [(ids, labels)])
    return model.static.weight.detach(), model.tuned.weight.detach()


def verify(outcome):
    static, tuned = outcome
    assert torch.equal(static, tuned)


TRUTH = Truth(
    fault="from_pretrained() without freeze=False: the channel that should be tuned is frozen",
    names=("tuned",),
    repair=("self.tuned = nn.Embedding.from_pretrained(vectors.clone(), freeze=False, padding_idx=0)",),
)
