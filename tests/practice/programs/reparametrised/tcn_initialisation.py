"""TCN with weight norm: `init.normal_` writes into a weight that is computed anew at each access."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class TemporalBlock(nn.Module):
    def __init__(self, inp, out, kernel=3, dilation=1):
        super().__init__()
        self.trim = (kernel - 1) * dilation
        self.conv1 = weight_norm(nn.Conv1d(inp, out, kernel, padding=self.trim, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(out, out, kernel, padding=self.trim, dilation=dilation))
        self.down = nn.Conv1d(inp, out, 1) if inp != out else nn.Identity()
        self.init_weights()

    def init_weights(self):
        nn.init.normal_(self.conv1.weight, 0, 1e-3)  # cause
        nn.init.normal_(self.conv2.weight, 0, 1e-3)  # cause
        nn.init.zeros_(self.conv1.bias)
        nn.init.zeros_(self.conv2.bias)

    def forward(self, x):
        h = F.relu(self.conv1(x)[..., : -self.trim])
        h = F.relu(self.conv2(h)[..., : -self.trim])
        return F.relu(h + self.down(x))


class TCN(nn.Module):
    def __init__(self, inp=2, channels=(6, 6)):
        super().__init__()
        sizes = [inp, *channels]
        self.blocks = nn.Sequential(
            *[TemporalBlock(a, b, dilation=2**i) for i, (a, b) in enumerate(zip(sizes, channels))]
        )
        self.fc = nn.Linear(channels[-1], 1)

    def forward(self, x):
        return self.fc(self.blocks(x)[..., -1]).squeeze(1)


def adding_problem(n, length=12):
    values = torch.rand(n, length)
    marks = torch.zeros(n, length)
    for row in marks:
        row[torch.randperm(length)[:2]] = 1
    return torch.stack([values, marks], 1), (values * marks).sum(1)


def run():
    torch.manual_seed(0)
    model = TCN()
    spread = model.blocks[0].conv1.weight.std().item()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for step in range(2):
        x, y = adding_problem(16)
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f} initial spread {spread:.4f}")
    return spread


def verify(out):
    assert out > 0.01


TRUTH = Truth(
    fault="the initial values are written into a computed copy of the weight",
    minor=True,
    names=("conv1",),
    repair=(
        "with torch.no_grad():\n    self.conv1.weight = 1e-3 * torch.randn_like(self.conv1.weight)",
        "with torch.no_grad():\n    self.conv2.weight = 1e-3 * torch.randn_like(self.conv2.weight)",
    ),
)
