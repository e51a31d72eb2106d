"""Line search along the gradient: after vector_to_parameters the anchor vector is the parameters' own memory."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 10)
        self.b = nn.Linear(10, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x))).squeeze(-1)


class LandscapeWalk:
    """Loss along a direction; afterwards the model is where it was."""

    def __init__(self, model):
        self.model = model

    def anchor(self):
        return parameters_to_vector(self.model.parameters()).detach()

    def profile(self, x, y, direction, alphas):
        origin = self.anchor()
        losses = []
        with torch.no_grad():
            for alpha in alphas:
                vector_to_parameters(origin + alpha * direction, self.model.parameters())
                losses.append(F.mse_loss(self.model(x), y).item())
        vector_to_parameters(origin, self.model.parameters())  # cause
        return origin, losses


def grad_vector(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def run():
    torch.manual_seed(0)
    model = Surrogate()
    walk = LandscapeWalk(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    x = torch.randn(32, 3)
    y = x.prod(1)
    trial = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        origin, losses = walk.profile(x, y, -grad_vector(model), (0.1, 0.3, 1.0))
        at_origin = origin.clone()
        optimizer.step()
        with torch.no_grad():  # the step was a trial: go back
            vector_to_parameters(origin, model.parameters())
        trial.append((walk.anchor() - at_origin).abs().max().item())
    return trial


def verify(outcome):
    # "back at the origin", which has moved along
    assert min(outcome) > 1e-4


TRUTH = Truth(
    fault="vector_to_parameters makes the parameters views of the anchor, optimizer.step() changes the anchor too",
    names=("vector_to_parameters",),
    repair=("vector_to_parameters(origin.clone(), self.model.parameters())",),
)
