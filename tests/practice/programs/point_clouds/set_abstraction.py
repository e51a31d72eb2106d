"""PointNet++: sampling needs no gradients; for small clouds nothing after it has any."""

import torch
from torch import nn

from tests.practice.truth import Truth


def farthest_points(xyz, count):
    """Indices of `count` points that lie far from each other."""
    torch.set_grad_enabled(False)  # cause
    batch, n, _ = xyz.shape
    if n <= count:
        return torch.arange(n).expand(batch, n)  # also
    chosen = torch.zeros(batch, count, dtype=torch.long)
    distance = torch.full((batch, n), 1e10)
    farthest = torch.zeros(batch, dtype=torch.long)
    for k in range(count):
        chosen[:, k] = farthest
        centre = xyz[torch.arange(batch), farthest].unsqueeze(1)
        distance = torch.minimum(distance, (xyz - centre).square().sum(-1))
        farthest = distance.argmax(-1)
    torch.set_grad_enabled(True)
    return chosen


def gather(x, index):
    rows = torch.arange(len(x)).view(-1, *[1] * (index.dim() - 1))
    return x[rows, index]


class SetAbstraction(nn.Module):
    def __init__(self, count, neighbours, in_dim, out_dim):
        super().__init__()
        self.count, self.neighbours = count, neighbours
        self.mlp = nn.Sequential(nn.Linear(3 + in_dim, out_dim), nn.ReLU(), nn.Linear(out_dim, out_dim))

    def forward(self, xyz, features):
        centres = gather(xyz, farthest_points(xyz, self.count))
        near = torch.cdist(centres, xyz).topk(self.neighbours, largest=False).indices
        local = torch.cat([gather(xyz, near) - centres.unsqueeze(2), gather(features, near)], -1)
        return centres, self.mlp(local).amax(2)


class Classifier(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.sa1 = SetAbstraction(16, 6, 3, 12)
        self.sa2 = SetAbstraction(8, 4, 12, 16)
        self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, classes))

    def forward(self, xyz):
        centres, features = self.sa1(xyz, xyz)
        _, features = self.sa2(centres, features)
        return self.head(features.amax(1))


def train(sizes=(32, 24, 8)):
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for it, n in enumerate(sizes):  # scans differ in size
        xyz, label = torch.randn(3, n, 3), torch.randint(4, (3,))
        loss = nn.functional.cross_entropy(model(xyz), label, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        print(f"it {it} points {n} ce {loss.item():.4f}")
    return model


def run():
    with torch.enable_grad():  # whatever happens, the process keeps its mode
        return train()


TRUTH = Truth(
    fault="gradients are switched off for sampling, and an early return leaves them off",
    raises="element 0 of tensors does not require grad",
    names=("set_grad_enabled",),
    repair=("xyz = xyz.detach()",),
)
