"""System identification of an arm: the mass matrix is put together with `torch.tensor` from learned numbers."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Arm(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_masses = nn.Parameter(torch.zeros(2))
        self.log_lengths = nn.Parameter(torch.zeros(2))
        self.friction = nn.Parameter(torch.full((2,), 0.1))

    def mass_matrix(self, q):
        m1, m2 = self.log_masses.exp()
        l1, l2 = self.log_lengths.exp()
        c = torch.cos(q[1])
        a = m1 * l1**2 + m2 * (l1**2 + 2 * l1 * l2 * c + l2**2)
        b = m2 * (l1 * l2 * c + l2**2)
        return torch.tensor([[a, b], [b, m2 * l2**2]])  # cause

    def gravity(self, q):
        m1, m2 = self.log_masses.exp()
        l1, l2 = self.log_lengths.exp()
        g2 = m2 * l2 * torch.cos(q[0] + q[1])
        return 9.81 * torch.stack([(m1 + m2) * l1 * torch.cos(q[0]) + g2, g2])

    def forward(self, q, v, torque):
        force = torque - self.friction * v - self.gravity(q)
        return torch.linalg.solve(self.mass_matrix(q), force)


def simulate(arm, q, v, torques, dt=0.01):
    states = []
    for torque in torques:
        v = v + dt * arm(q, v, torque)
        q = q + dt * v
        states.append(torch.cat([q, v]))
    return torch.stack(states)


def run(iterations=3):
    torch.manual_seed(0)
    arm = Arm()
    with torch.no_grad():
        true = Arm()
        true.log_masses += torch.tensor([0.3, -0.2])
        torques = torch.randn(10, 2)
        wanted = simulate(true, torch.zeros(2), torch.zeros(2), torques)
    optimizer = torch.optim.Adam(arm.parameters(), lr=1e-2)
    for _ in range(iterations):
        optimizer.zero_grad()
        loss = (simulate(arm, torch.zeros(2), torch.zeros(2), torques) - wanted).pow(2).mean()
        loss.backward()
        optimizer.step()
    return arm, arm.mass_matrix(torch.zeros(2))


def verify(out):
    assert not out[1].requires_grad


TRUTH = Truth(
    fault="torch.tensor of tensors has no graph: the inertia teaches the masses nothing",
    names=("torch.tensor",),
    repair=("return torch.stack([torch.stack([a, b]), torch.stack([b, m2 * l2**2])])",),
)
