"""Differentiable Kalman filter for GPS tracks: detached innovations for gating, an in-place Cholesky jitter, clipped log-noise. Healthy."""
import torch
from torch import nn

from tests.practice.truth import Truth


class LearntKalman(nn.Module):
    """Constant velocity; learns its process and measurement noise."""

    def __init__(self, dt=1.0):
        super().__init__()
        self.log_q = nn.Parameter(torch.tensor(-1.0))
        self.log_r = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("F", torch.tensor([[1.0, dt], [0.0, 1.0]]))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.register_buffer("G", torch.tensor([[0.25, 0.5], [0.5, 1.0]]))

    def gate(self, innovation, variance):
        """Outliers are left out; which ones is no question for the gradient."""
        return (innovation.detach().square() < 25 * variance.detach()).float()

    def forward(self, z):
        x = torch.zeros(z.size(0), 2)
        x[:, 0] = z[:, 0]
        P = torch.eye(2).repeat(z.size(0), 1, 1)
        nll = z.new_zeros(())
        for t in range(1, z.size(1)):
            x = x @ self.F.t()
            P = self.F @ P @ self.F.t() + self.log_q.exp() * self.G
            P.diagonal(dim1=-2, dim2=-1).add_(1e-6)
            S = (self.H @ P @ self.H.t()).flatten() + self.log_r.exp()
            v = z[:, t] - x[:, 0]
            use = self.gate(v, S)
            K = use[:, None] * P[:, :, 0] / S[:, None]
            x = x + K * v[:, None]
            P = P - K[:, :, None] * P[:, :1, :]
            nll = nll + (use * (v.square() / S + S.log())).mean()
        return nll / (z.size(1) - 1)


def tracks(n, length):
    v = torch.randn(n, 1) + 0.05 * torch.randn(n, length).cumsum(1)
    z = v.cumsum(1) + 0.3 * torch.randn(n, length)
    z[0, length // 2] += 60
    return z


def run():
    torch.manual_seed(0)
    model = LearntKalman()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    z = tracks(8, 12)
    start = [p.item() for p in model.parameters()]
    losses = []
    for _ in range(5):
        loss = model(z)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for p in model.parameters():
            p.data.clamp_(-6, 3)
        losses.append(loss.item())
    return start, [p.item() for p in model.parameters()], losses


def verify(outcome):
    start, now, losses = outcome
    assert all(a != b for a, b in zip(start, now))
    assert losses[-1] < losses[0]


TRUTH = Truth()
