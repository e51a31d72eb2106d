import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, x):
        x1, x2 = x.chunk(2, dim=1)
        if self.flip:
            x1, x2 = x2, x1
        s, t = self.net(x1).chunk(2, dim=1)
        s = torch.tanh(s)
        y2 = x2 * torch.exp(s) + t
        y = torch.cat([y2, x1], dim=1) if self.flip else torch.cat([x1, y2], dim=1)
        return y, s.sum(dim=1)


class RealNVP(nn.Module):
    def __init__(self, dim=4, layers=3):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(dim, bool(i % 2)) for i in range(layers)])
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("std", torch.ones(dim))

    def log_prob(self, x):
        log_det = torch.zeros(x.size(0))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        prior = torch.distributions.Normal(self.mean, self.std)
        return prior.log_prob(x).sum(dim=1) + log_det


def run():
    model = RealNVP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    data = torch.randn(32, 4) * 0.5 + 1
    for epoch in range(4):
        batch = data[torch.randperm(32)[:16]]
        log_prob = model.log_prob(batch)
        loss = -log_prob.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return model
