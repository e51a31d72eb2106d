"""A simulator of linear springs that writes its state in place: nothing that is overwritten was saved."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Chain:
    def __init__(self, batch, masses=3, dt=0.05, stiffness=4.0):
        self.dt = dt
        coupling = (
            2 * torch.eye(masses) - torch.diag(torch.ones(masses - 1), 1) - torch.diag(torch.ones(masses - 1), -1)
        )
        self.coupling = -stiffness * coupling
        self.position = torch.randn(batch, masses)
        self.velocity = torch.zeros(batch, masses)

    def step(self, force):
        acceleration = self.position @ self.coupling
        acceleration[:, -1] += force
        acceleration -= 0.1 * self.velocity
        self.velocity += self.dt * acceleration
        self.position += self.dt * self.velocity
        return torch.cat([self.position, self.velocity], -1)


class Controller(nn.Module):
    def __init__(self, masses=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * masses, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, state):
        return 3 * torch.tanh(self.net(state)).squeeze(-1)


def run(iterations=4, horizon=8):
    torch.manual_seed(0)
    controller = Controller()
    optimizer = torch.optim.Adam(controller.parameters(), lr=1e-2)
    costs = []
    for _ in range(iterations):
        world = Chain(batch=6)
        state = torch.cat([world.position, world.velocity], -1)
        cost = 0.0
        for _ in range(horizon):
            force = controller(state)
            state = world.step(force)
            cost = cost + state.pow(2).mean() + 1e-3 * force.pow(2).mean()
        optimizer.zero_grad()
        cost.backward()
        nn.utils.clip_grad_norm_(controller.parameters(), 10.0)
        optimizer.step()
        costs.append(cost.item())
    return controller, costs


TRUTH = Truth()


def verify(out):
    controller, costs = out
    assert all(p.grad.abs().sum() > 0 for p in controller.parameters())
