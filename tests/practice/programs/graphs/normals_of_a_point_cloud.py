"""Learned point normals from eigh: neighbourhoods with equal eigenvalues make the eigenvectors' gradient infinite."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PointWeights(nn.Module):
    """Predicts how much each neighbour counts in the local plane fit."""

    def __init__(self, hidden=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, distance):
        return torch.sigmoid(self.net(distance[..., None])).squeeze(-1)


def knn(points, k):
    return torch.cdist(points, points).topk(k + 1, largest=False).indices[:, 1:]


def plane_normals(points, weights, neighbours):
    local = points[neighbours] - points[:, None]
    cov = torch.einsum("nk,nki,nkj->nij", weights, local, local) / weights.sum(1)[:, None, None]
    _, vectors = torch.linalg.eigh(cov)  # cause
    return vectors[:, :, 0]


def grid(n=5):
    axis = torch.arange(n).float()
    x, y = torch.meshgrid(axis, axis, indexing="ij")
    return torch.stack([x.flatten(), y.flatten(), torch.zeros(n * n)], 1)


def normal_loss(pred, target):
    return (1 - F.cosine_similarity(pred, target, dim=1).abs()).mean()


def run():
    torch.manual_seed(0)
    model = PointWeights()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    clouds = [torch.randn(20, 3), grid()]
    history = []
    for step, points in enumerate(clouds):
        idx = knn(points, k=4)
        distance = (points[idx] - points[:, None]).norm(dim=-1)
        normals = plane_normals(points, model(distance), idx)
        target = torch.tensor([0.3, 0.0, 0.954]).expand_as(points)
        loss = normal_loss(normals, target)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        history.append(loss.item())
        print(f"cloud {step}: loss {history[-1]:.4f}")
    return model, history


def verify(out):
    model, history = out
    assert all(h == h for h in history) and model.net[0].weight.isnan().any()


TRUTH = Truth(
    fault="the gradient of eigenvectors with equal eigenvalues is not finite",
    values=True,
    names=("eigh",),
    repair=("_, vectors = torch.linalg.eigh(cov + torch.diag(torch.tensor([0.0, 1e-2, 2e-2])))",),
)
