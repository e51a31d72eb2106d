"""Deep closest point: soft matches, then a rotation by Kabsch, with a case for reflections."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PointFeatures(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.both = nn.Linear(2 * dim, dim)

    def forward(self, xyz):
        f = self.local(xyz)
        pooled = f.amax(1, keepdim=True).expand_as(f)
        return self.both(torch.cat([f, pooled], -1))


class RigidHead(nn.Module):
    """Soft correspondences to a rotation and a translation."""

    def forward(self, src, tgt, f_src, f_tgt):
        scores = (f_src @ f_tgt.mT / f_src.shape[-1] ** 0.5).softmax(-1)
        matched = scores @ tgt
        c_src, c_tgt = src.mean(1, keepdim=True), matched.mean(1, keepdim=True)
        cov = (src - c_src).mT @ (matched - c_tgt)
        rotations = []
        for h in cov:
            u, _, vh = torch.linalg.svd(h)
            r = vh.mT @ u.mT
            if torch.det(r) < 0:
                vh[2] *= -1  # cause
                r = vh.mT @ u.mT
            rotations.append(r)
        rotation = torch.stack(rotations)
        return rotation, c_tgt - c_src @ rotation.mT


class DCP(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = PointFeatures()
        self.head = RigidHead()

    def forward(self, src, tgt):
        return self.head(src, tgt, self.features(src), self.features(tgt))


def pairs(n=6, points=5):
    src = torch.randn(n, points, 3) * torch.tensor([1.0, 1.0, 0.3])  # flat, sparse scans
    angle = torch.rand(n) * 3.0
    c, s, o, e = angle.cos(), angle.sin(), torch.zeros(n), torch.ones(n)
    rotation = torch.stack([c, -s, o, s, c, o, o, o, e], -1).view(n, 3, 3)
    shift = torch.rand(n, 1, 3) - 0.5
    return src, src @ rotation.mT + shift, rotation, shift


def run(steps=4):
    torch.manual_seed(0)
    net = DCP()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(steps):
        src, tgt, rotation, shift = pairs()
        r, t = net(src, tgt)
        loss = (r.mT @ rotation - torch.eye(3)).square().mean() + nn.functional.mse_loss(t, shift)
        optimizer.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")
    return net


TRUTH = Truth(
    fault="the singular vectors are flipped in place, which the backward of svd still needs",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("vh",),
    repair=("vh = vh * torch.tensor([[1.0], [1.0], [-1.0]])",),
)
