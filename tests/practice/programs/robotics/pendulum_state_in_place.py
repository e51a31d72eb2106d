"""Trajectory optimisation through a simulator that writes the next state into the last one."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Pendulum:
    def __init__(self, batch, dt=0.05):
        self.dt = dt
        self.state = torch.zeros(batch, 2)
        self.state[:, 0] = torch.pi

    def step(self, torque):
        angle, velocity = self.state[:, 0], self.state[:, 1]
        acceleration = -9.81 * torch.sin(angle) - 0.1 * velocity + torque
        self.state[:, 1] += self.dt * acceleration  # cause
        self.state[:, 0] += self.dt * self.state[:, 1]  # cause
        return self.state.clone()


def cost(states, torques):
    height = torch.cos(states[..., 0])
    return (1 + height).mean() + 0.01 * states[..., 1].pow(2).mean() + 1e-3 * torques.pow(2).mean()


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, state):
        angle, velocity = state.unbind(-1)
        return 2 * torch.tanh(self.net(torch.stack([angle.sin(), angle.cos(), velocity], -1))).squeeze(-1)


def run(iterations=2, horizon=6):
    torch.manual_seed(0)
    controller = Controller()
    optimizer = torch.optim.Adam(controller.parameters(), lr=1e-2)
    for _ in range(iterations):
        world, states, torques = Pendulum(batch=4), [], []
        state = world.state.clone()
        for _ in range(horizon):
            torque = controller(state)
            state = world.step(torque)
            states.append(state)
            torques.append(torque)
        loss = cost(torch.stack(states), torch.stack(torques))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return loss


TRUTH = Truth(
    fault="the angle that sin saved is overwritten by the next state",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("sin",),
    repair=(
        "velocity = velocity + self.dt * acceleration",
        "self.state = torch.stack([angle + self.dt * velocity, velocity], -1)",
    ),
)
