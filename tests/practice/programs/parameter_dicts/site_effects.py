"""A hierarchical model keeps its effects in ParameterDicts, which make parameters of the plain tensors they get."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

SITES = ("north", "harbour", "airport")
SPECIES = ("no2", "pm10")


class AirQuality(nn.Module):
    """Log-concentrations: a smooth of the weather, an effect of each site, and a noise level of each species."""

    def __init__(self, n_features):
        super().__init__()
        self.smooth = nn.Sequential(nn.Linear(n_features, 12), nn.Softplus(), nn.Linear(12, len(SPECIES)))
        self.site = nn.ParameterDict({name: torch.zeros(len(SPECIES)) for name in SITES})
        self.log_sigma = nn.ParameterDict()
        for species in SPECIES:
            self.log_sigma[species] = torch.tensor(-0.5)
        self.site_scale = nn.ParameterDict({"log_tau": nn.Parameter(torch.tensor(0.0))})
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def add_site(self, name):
        """A site that opens later starts at the mean of the others."""
        with torch.no_grad():
            mean = torch.stack(list(self.site.values())).mean(0)
        self.site[name] = mean
        return self.site[name]

    def forward(self, weather, sites):
        table = torch.stack([self.site[name] for name in sites])
        return self.smooth(weather) + table

    def neg_log_posterior(self, weather, sites, y):
        mean = self(weather, sites)
        sigma = torch.stack([self.log_sigma[s] for s in SPECIES]).exp()
        nll = (0.5 * ((y - mean) / sigma) ** 2 + sigma.log()).sum(1).mean()
        log_tau = self.site_scale["log_tau"]
        prior = sum((0.5 * (e / log_tau.exp()) ** 2 + log_tau).sum() for e in self.site.values())
        self.steps += 1
        return nll + prior / 100 + 0.5 * log_tau**2


def simulate(n, names):
    weather = torch.randn(n, 4)
    sites = [names[i] for i in torch.randint(0, len(names), (n,)).tolist()]
    offset = torch.tensor([[names.index(s), -names.index(s)] for s in sites]).float()
    return weather, sites, torch.sin(weather[:, :2]) + offset + 0.3 * torch.randn(n, 2)


def run():
    torch.manual_seed(0)
    model = AirQuality(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    history = []
    for step in range(6):
        names = [*SITES, "canal"] if step >= 3 else list(SITES)
        if step == 3:
            optimizer.add_param_group({"params": [model.add_site("canal")]})
        loss = model.neg_log_posterior(*simulate(64, names))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    held = {id(p) for g in optimizer.param_groups for p in g["params"]}
    return history, all(id(p) in held for p in model.parameters()), model.site["canal"].grad


def verify(outcome):
    history, complete, grad = outcome
    assert history[2] < history[0] and complete and grad.abs().sum() > 0


TRUTH = Truth()
