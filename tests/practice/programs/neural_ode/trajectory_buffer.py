"""Fitting a damped spiral: the solver fills one preallocated trajectory and steps from views of it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.1)
                nn.init.zeros_(m.bias)

    def forward(self, t, y):
        return self.net(y**3)


def odeint_midpoint(func, y0, t):
    ys = torch.empty(len(t), *y0.shape)
    ys[0] = y0
    for i in range(len(t) - 1):
        dt = t[i + 1] - t[i]
        y = ys[i]  # cause
        mid = y + 0.5 * dt * func(t[i], y)
        ys[i + 1] = y + dt * func(t[i] + 0.5 * dt, mid)  # also
    return ys


def true_trajectory(n):
    a = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    t = torch.linspace(0, 2, n)
    y = torch.tensor([[2.0, 0.0]])
    out = [y]
    for i in range(n - 1):
        y = y + (t[i + 1] - t[i]) * (y**3) @ a.T * 0.1
        out.append(y)
    return t, torch.stack(out)


def get_batch(t, y, batch=4, length=5):
    starts = torch.randint(0, len(t) - length, (batch,))
    return y[starts], t[:length], torch.stack([y[s : s + length] for s in starts], dim=1)


def run():
    torch.manual_seed(0)
    t, y = true_trajectory(20)
    func = ODEFunc()
    opt = torch.optim.RMSprop(func.parameters(), lr=1e-3)
    avg = None
    for itr in range(3):
        opt.zero_grad()
        y0, bt, target = get_batch(t, y)
        pred = odeint_midpoint(func, y0, bt)
        loss = (pred - target).abs().mean()
        loss.backward()  # symptom
        opt.step()
        avg = loss.item() if avg is None else 0.97 * avg + 0.03 * loss.item()
    with torch.no_grad():
        print(f"avg {avg:.4f}, total {(odeint_midpoint(func, y[0], t) - y).abs().mean():.4f}")
    return func


TRUTH = Truth(
    fault="a step saves a view of the trajectory that the next step writes into",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("ys",),
    repair=("y = ys[i].clone()",),
)
