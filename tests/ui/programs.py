"""Cells of one notebook: the first prepares, each other shows one widget."""

from __future__ import annotations

SETUP = """
%load_ext autograd_inspector
import contextlib
import torch, autograd_inspector
from torch import nn

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        hidden = torch.sigmoid(self.encoder(x))
        hidden.register_hook(lambda gradient: gradient)
        return self.head(self.norm(hidden))

net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
"""
TRAINED = """%%autograd_inspect --store report
loss = net(x).pow(2).mean()
loss.backward()
with torch.no_grad():
    scale = loss.detach() * 2
x.mul_(0.5)
optimizer.step()
"""
SPOILED = """%%autograd_inspect
hidden = torch.sigmoid(net.encoder(x))
out = net.head(net.norm(hidden))
hidden.add_(1.0)
with contextlib.suppress(RuntimeError):
    out.sum().backward()
"""
MISPLACED = """
def block():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
model = nn.Sequential(block(), block(), block(), nn.Linear(8, 1))
adam = torch.optim.AdamW(model.parameters())
with autograd_inspector.inspect() as inspection:
    model(torch.ones(2, 8)).sum().backward()
    adam.step()
    first, third = (adam.state[p] for p in (model[0][0].weight, model[0][2].bias))
    first["exp_avg"] = first["exp_avg"].to("meta")
    third["exp_avg_sq"] = third["exp_avg_sq"].to(torch.bfloat16)
inspection.report
"""
SUMMED = """%%autograd_inspect
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
g_opt = torch.optim.Adam(generator.parameters())
d_opt = torch.optim.Adam(critic.parameters())
g_loss = -critic(generator(x)).mean()
g_loss.backward()
g_opt.step()
d_loss = critic(generator(x).detach()).mean() - critic(x).mean()
d_loss.backward()
d_opt.step()
"""
CELLS = {"trained": TRAINED, "spoiled": SPOILED, "misplaced": MISPLACED, "summed": SUMMED}
