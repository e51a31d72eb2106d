"""Point clouds: a propagation stage interpolates features with a kernel wrapped as a custom op."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the custom op has no registered autograd formula, so the backward pass of the coarse tower raises",
    raises="Trying to backward through pointops.three_interpolate.default but no autograd formula was registered",
    names=("three_interpolate", "register_autograd"),
    repair=("spread = (coarse[index] * weight[..., None]).sum(1)",),
)


@torch.library.custom_op("pointops::three_interpolate", mutates_args=())  # also
def three_interpolate(features: torch.Tensor, index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    out = features.new_zeros(len(index), features.shape[1])
    for k in range(index.shape[1]):
        out += features[index[:, k]] * weight[:, k, None]
    return out


@three_interpolate.register_fake
def _(features, index, weight):
    return features.new_empty(index.shape[0], features.shape[1])


def three_nn(fine, coarse):
    distance, index = torch.cdist(fine, coarse).topk(3, largest=False)
    weight = 1 / (distance + 1e-6)
    return index, weight / weight.sum(1, keepdim=True)


class Propagation(nn.Module):
    def __init__(self, width=12, classes=4):
        super().__init__()
        self.coarse = torch.compile(nn.Sequential(nn.Linear(3, width), nn.ReLU()), backend=BACKEND)
        self.skip = nn.Linear(3, width)
        self.head = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, classes))
        self.head.compile(backend=BACKEND)

    def forward(self, xyz, centres):
        coarse = self.coarse(centres)
        with torch.no_grad():
            index, weight = three_nn(xyz, centres)
        spread = three_interpolate(coarse, index, weight)  # cause
        return self.head(torch.cat([spread, torch.relu(self.skip(xyz))], 1))


def setup():
    torch.manual_seed(0)


def run():
    model = Propagation()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        xyz = torch.rand(48, 3)
        labels = (xyz[:, 2] * 4).long().clamp(max=3)
        logits = model(xyz, xyz[::6].contiguous())
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses
