"""Medical imaging: patches are tensors that carry their voxel spacing through a compiled segmentation head."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="_make_subclass() makes a detached tensor of what it is given: the resampled features lose their graph",
    names=("_make_subclass", "stem", "squeeze"),
    repair=("volume = data.as_subclass(cls)",),
)


class Volume(torch.Tensor):
    @staticmethod
    def __new__(cls, data, spacing):
        volume = torch.Tensor._make_subclass(cls, data)  # cause
        volume.spacing = spacing
        return volume

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        given = next((a for a in args if isinstance(a, Volume)), None)
        if isinstance(out, Volume) and given is not None:
            out.spacing = getattr(given, "spacing", None)
        return out


def resample(volume, spacing):
    scale = [a / b for a, b in zip(volume.spacing, spacing)]
    return Volume(F.interpolate(volume.as_subclass(torch.Tensor), scale_factor=scale, mode="bilinear"), spacing)


class Segmenter(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.squeeze = nn.Conv2d(width, width, 1)
        self.head = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 2, 1))
        self.head.compile(backend=BACKEND)

    def forward(self, scan):
        features = self.squeeze(F.relu(self.stem(scan.as_subclass(torch.Tensor))))
        even = resample(Volume(features, scan.spacing), (1.0, 1.0))
        return self.head(even.as_subclass(torch.Tensor)), even.spacing


def setup():
    torch.manual_seed(0)


def run():
    net = Segmenter()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    start = [p.detach().clone() for p in net.parameters()]
    for _ in range(4):
        scan = Volume(torch.rand(3, 1, 8, 8), (2.0, 1.0))
        logits, spacing = net(scan)
        lesion = (F.interpolate(scan.as_subclass(torch.Tensor), scale_factor=(2.0, 1.0)) > 0.7).long().squeeze(1)
        loss = F.cross_entropy(logits, lesion, weight=torch.tensor([0.3, 1.0]))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        assert spacing == (1.0, 1.0)
    return {name: torch.equal(p, s) for (name, p), s in zip(net.named_parameters(), start)}


def verify(outcome):
    assert all(same == (not name.startswith("head")) for name, same in outcome.items())
