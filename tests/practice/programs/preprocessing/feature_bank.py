"""Compute the features of a whole data set once and train a head on them."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class AudioEncoder(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv = nn.Conv1d(1, width, 9, stride=4)
        self.norm = nn.BatchNorm1d(width)
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, wav):
        h = F.relu(self.norm(self.conv(wav)))
        _, last = self.gru(h.transpose(1, 2))
        return last[-1]


def extract(encoder, loader):
    encoder.eval()
    feats, labels = [], []
    for wav, y in loader:
        feats.append(encoder(wav))  # cause
        labels.append(y)
    return torch.cat(feats), torch.cat(labels)


def train_head(head, feats, labels, epochs=2, batch_size=8, lr=1e-2):
    opt = torch.optim.AdamW(head.parameters(), lr=lr)
    curve = []
    for _ in range(epochs):
        order = torch.randperm(len(feats))
        running = 0.0
        for idx in order.split(batch_size):
            loss = F.cross_entropy(head(feats[idx]), labels[idx])
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
            running += loss.item() * len(idx)
        curve.append(running / len(feats))
    return curve


def run():
    torch.manual_seed(0)
    wav, y = torch.randn(32, 1, 64), torch.randint(0, 4, (32,))
    loader = DataLoader(TensorDataset(wav, y), batch_size=16)
    feats, labels = extract(AudioEncoder(), loader)
    return train_head(nn.Linear(16, 4), feats, labels)


TRUTH = Truth(
    fault="features are extracted with a graph that every batch then walks again",
    raises="Trying to backward through the graph a second time",
    names=("feats",),
    repair=("with torch.no_grad():\n    feats.append(encoder(wav))",),
)


def well(out):
    assert len(out) == 2
