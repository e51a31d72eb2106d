import torch
from torch import nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))
        self.temperature = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        h = self.encoder(x)
        z = self.projector(h)
        return F.normalize(z, dim=1)


def info_nce(z, temperature):
    n = z.size(0) // 2
    sim = z @ z.t() / temperature
    mask = torch.eye(2 * n, dtype=torch.bool)
    sim = sim.masked_fill(mask, -1e9)
    labels = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, labels)


def run():
    model = SimCLR()
    probe = nn.Linear(16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    probe_optimizer = torch.optim.Adam(probe.parameters())
    for step in range(4):
        images, labels = torch.randn(6, 12), torch.randint(0, 3, (6,))
        views = torch.cat([images + 0.1 * torch.randn_like(images), images + 0.1 * torch.randn_like(images)])
        z = model(views)
        loss = info_nce(z, model.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            features = model.encoder(images)
        logits = probe(features)
        probe_loss = F.cross_entropy(logits, labels)
        probe_optimizer.zero_grad()
        probe_loss.backward()
        probe_optimizer.step()
    return model, probe
