"""Dynamic weight average: the history keeps losses with their graphs, and the next epoch's weights lead there."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class DWA:
    """Weights each task by how slowly its loss came down over the last two epochs."""

    def __init__(self, num_tasks, temperature=2.0):
        self.num_tasks, self.temperature = num_tasks, temperature
        self.history = []

    def weights(self):
        if len(self.history) < 2:
            return torch.ones(self.num_tasks)
        rate = self.history[-1] / self.history[-2]
        return self.num_tasks * torch.softmax(rate / self.temperature, dim=0)

    def end_epoch(self, mean_losses):
        self.history.append(mean_losses)  # cause


class MTAN(nn.Module):
    def __init__(self, dim=8, tasks=2):
        super().__init__()
        self.shared = nn.Linear(4, dim)
        self.attention = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.Sigmoid()) for _ in range(tasks))
        self.heads = nn.ModuleList(nn.Linear(dim, 1) for _ in range(tasks))

    def forward(self, x):
        z = F.relu(self.shared(x))
        return [head(att(z) * z).squeeze(1) for att, head in zip(self.attention, self.heads)]


def run():
    torch.manual_seed(0)
    model = MTAN()
    dwa = DWA(2)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        lam = dwa.weights()
        epoch_losses = []
        for _ in range(2):
            x = torch.randn(16, 4)
            a, b = model(x)
            losses = torch.stack([F.mse_loss(a, x.sum(1)), F.l1_loss(b, x.prod(1))])
            opt.zero_grad()
            (lam * losses).sum().backward()  # symptom
            opt.step()
            epoch_losses.append(losses)  # also
        dwa.end_epoch(torch.stack(epoch_losses).mean(0))
        print(f"epoch {epoch} losses {losses.tolist()} weights {lam.tolist()}")
    return model


TRUTH = Truth(
    fault="past losses keep their graphs and weigh the next ones",
    raises="Trying to backward through the graph a second time",
    names=("history",),
    repair=("self.history.append(mean_losses.detach())",),
)
