"""Metric learning: the distance is a bare square root, whose gradient at two equal pictures is not a number."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MatchingPairs(torch.utils.data.Dataset):
    """Pairs of pictures with 1 for the same class; the two indices are drawn independently."""

    def __init__(self, images, labels, n, seed):
        self.images, self.labels = images, labels
        g = torch.Generator().manual_seed(seed)
        self.first = torch.randint(0, len(images), (n,), generator=g)
        self.second = torch.randint(0, len(images), (n,), generator=g)
        same = torch.arange(n) % 2 == 0
        for i in same.nonzero().flatten().tolist():
            group = (labels == labels[self.first[i]]).nonzero().flatten()
            self.second[i] = group[torch.randint(0, len(group), (1,), generator=g)]

    def __len__(self):
        return len(self.first)

    def __getitem__(self, index):
        i, j = self.first[index], self.second[index]
        return self.images[i], self.images[j], (self.labels[i] == self.labels[j]).float()


class SiameseNetwork(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.ReLU(), nn.Conv2d(6, 8, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.fc = nn.Sequential(nn.Linear(32, 16), nn.ReLU(inplace=True), nn.Linear(16, dim))
        self.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        return self.fc(self.cnn(x))

    def forward(self, a, b):
        return self.forward_once(a), self.forward_once(b)


def euclidean(a, b):
    return torch.sqrt(((a - b) ** 2).sum(dim=1))  # cause


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        distance = euclidean(a, b)
        return (same * distance.pow(2) + (1 - same) * F.relu(self.margin - distance).pow(2)).mean()


def train(model, loader, optimizer, criterion):
    model.train()
    losses = []
    for image1, image2, targets in loader:
        optimizer.zero_grad()
        loss = criterion(*model(image1, image2), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def test(model, loader, threshold=0.5):
    model.eval()
    correct = 0
    for image1, image2, targets in loader:
        pred = (euclidean(*model(image1, image2)) < threshold).float()
        correct += pred.eq(targets).sum().item()
    return correct / len(loader.dataset)


def run():
    torch.manual_seed(1)
    images, labels = torch.rand(12, 1, 8, 8), torch.arange(12) % 3
    loader = torch.utils.data.DataLoader(MatchingPairs(images, labels, 32, seed=3), batch_size=8)
    model = SiameseNetwork()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    losses = train(model, loader, optimizer, ContrastiveLoss())
    test(model, loader)
    return losses, model.cnn[0].weight.detach().clone()


def verify(outcome):
    losses, weight = outcome
    assert losses[0] == losses[0] and torch.isnan(weight).all()


TRUTH = Truth(
    fault="sqrt at zero distance gives NaN gradients, and all weights become NaN",
    values=True,
    names=("sqrt",),
    repair=("return torch.sqrt(((a - b) ** 2).sum(dim=1) + 1e-8)",),
)
