"""An attack on a compiled classifier reads the gradient of the normalised image, which is not the leaf."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG302"
NAMES = ("images",)
RAISES = "NoneType"


def setup():
    global model
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    model.compile(backend=BACKEND)


def run():
    images = torch.rand(2, 1, 8, 8).requires_grad_()
    images = (images - 0.5) / 0.25  # cause
    loss = F.cross_entropy(model(images), torch.tensor([0, 2]))
    loss.backward()
    return images + 0.03 * images.grad.sign()
