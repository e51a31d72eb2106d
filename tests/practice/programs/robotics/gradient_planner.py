"""Model-predictive control by gradient descent on the actions, through a learned model; the plans hardly improve."""

import torch
from torch import nn

from tests.practice.truth import Truth


class ResidualDynamics(nn.Module):
    def __init__(self, state=4, action=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state + action, 24), nn.Tanh(), nn.Linear(24, state))

    def forward(self, s, a):
        return s + 0.3 * self.net(torch.cat([s, a], -1))


class GradientPlanner:
    """Optimise a sequence of actions within their limits; execute the first; shift."""

    def __init__(self, model, goal, horizon=5, iterations=6, lr=0.2, limit=1.0):
        self.model, self.goal = model, goal
        self.horizon, self.iterations, self.lr, self.limit = horizon, iterations, lr, limit
        self.warm_start = torch.zeros(horizon, 2)
        self.trace = []

    def cost(self, state, actions):
        total = 0.0
        for action in actions.unbind(0):
            state = self.model(state, action)
            total = total + (state - self.goal).square().sum() + 1e-3 * action.square().sum()
        return total

    def plan(self, state):
        actions = self.warm_start.clone().requires_grad_(True)
        optimizer = torch.optim.Adam([actions], lr=self.lr)
        costs = []
        for _ in range(self.iterations):
            optimizer.zero_grad()
            cost = self.cost(state, actions)
            cost.backward()
            optimizer.step()  # symptom
            with torch.no_grad():
                actions = actions.clamp(-self.limit, self.limit)  # cause
            costs.append(cost.item())
        self.trace.append(costs)
        planned = actions.detach()
        self.warm_start = torch.cat([planned[1:], planned[-1:]])
        return planned[0]


def fit_dynamics(model, plant, steps=30):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        s, a = torch.randn(32, 4), torch.rand(32, 2) * 2 - 1
        loss = nn.functional.mse_loss(model(s, a), plant(s, a))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def run(control_steps=2):
    torch.manual_seed(0)
    push = torch.randn(2, 4) * 0.3
    model = ResidualDynamics()
    error = fit_dynamics(model, lambda s, a: 0.95 * s + a @ push)
    planner = GradientPlanner(model, goal=torch.tensor([0.5, -0.5, 0.2, 0.0]))
    state = torch.zeros(4)
    for step in range(control_steps):
        action = planner.plan(state)
        state = 0.95 * state + action @ push
        print(f"t {step} model {error:.4f} cost {planner.trace[-1][-1]:.3f}")
    return planner.trace


def verify(trace):
    costs = trace[0]
    assert costs[1] != costs[0] and len(set(costs[1:])) == 1


TRUTH = Truth(
    fault="the clamped actions are a new tensor, without gradient, that the optimizer does not know",
    names=("actions", "clamp"),
    repair=("actions.clamp_(-self.limit, self.limit)",),
)
