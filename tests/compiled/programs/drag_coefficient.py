"""Physics: the drag and the gravity of a thrown ball are fitted through a compiled integrator."""

import warnings

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the drag is read as a Python number with item(), so no gradient reaches it and it is never fitted",
    names=("log_drag", "item", "drag"),
    repair=("drag = self.log_drag.exp()",),
)


class Flight(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_drag = nn.Parameter(torch.tensor(-1.0))
        self.gravity = nn.Parameter(torch.tensor(5.0))

    def forward(self, velocity, steps):
        drag = self.log_drag.exp().item()  # cause
        place, path = torch.zeros_like(velocity), []
        down = torch.stack([torch.zeros_like(self.gravity), -self.gravity])
        for _ in range(steps):
            speed = velocity.norm(dim=-1, keepdim=True)
            velocity = velocity + 0.05 * (down - drag * speed * velocity)
            place = place + 0.05 * velocity
            path.append(place)
        return torch.stack(path, 1)


def setup():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")


def run():
    truth, model = Flight(), Flight()
    with torch.no_grad():
        truth.log_drag.fill_(-2.0)
        truth.gravity.fill_(9.8)
    simulate = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(4):
        velocity = torch.rand(8, 2) * 4 + 1
        with torch.no_grad():
            goal = truth(velocity, 8)
        loss = (simulate(velocity, 8) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return model.log_drag, model.gravity


def verify(outcome):
    log_drag, gravity = outcome
    assert log_drag.item() == -1.0 and log_drag.grad is None
    assert gravity.item() > 5.2
