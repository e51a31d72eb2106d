"""DANN: the reversal is a tensor hook that multiplies in place, and the gradient tensor is the residual branch's as well."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def reverse_gradient(x, lambd):
    """Identity forward, -lambda times the gradient backward."""
    x = x * 1.0
    x.register_hook(lambda g: g.mul_(-lambd))  # cause
    return x


class FeatureExtractor(nn.Module):
    def __init__(self, cin=8, dim=12):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(cin, dim), nn.Linear(dim, dim)

    def forward(self, x):
        h = self.fc1(x).relu()
        return h + self.fc2(h).tanh()


class DomainAdversarial(nn.Module):
    """The discriminator sees the features and, beside them, an embedding of the sensor that took the sample."""

    def __init__(self, dim=12):
        super().__init__()
        self.features = FeatureExtractor(dim=dim)
        self.classifier = nn.Linear(dim, 3)
        self.sensor = nn.Embedding(4, dim)
        self.discriminator = nn.Sequential(nn.Linear(dim, 12), nn.ReLU(), nn.Linear(12, 1))

    def forward(self, x, sensor, lambd):
        f = self.features(x)
        return self.classifier(f), self.discriminator(self.sensor(sensor) + reverse_gradient(f, lambd))


def lambda_schedule(p):
    return 2.0 / (1.0 + torch.exp(torch.tensor(-10.0 * p)).item()) - 1.0


def sensor_gradient(model, x, sensor, domain, lambd):
    """What the discriminator's loss really says about the sensor embedding: features held fixed."""
    f = model.features(x).detach()
    logit = model.discriminator(model.sensor(sensor) + f)
    loss = F.binary_cross_entropy_with_logits(logit.squeeze(1), domain)
    return torch.autograd.grad(loss, model.sensor.weight)[0]


def run():
    torch.manual_seed(0)
    model = DomainAdversarial()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    pairs = []
    for step in range(3):
        x, sensor = torch.randn(12, 8), torch.randint(0, 4, (12,))
        domain = torch.cat([torch.zeros(6), torch.ones(6)])
        y = torch.randint(0, 3, (6,))
        lambd = lambda_schedule((step + 1) / 10)
        wanted = sensor_gradient(model, x, sensor, domain, lambd)
        logits, d = model(x, sensor, lambd)
        loss = F.cross_entropy(logits[:6], y) + F.binary_cross_entropy_with_logits(d.squeeze(1), domain)
        optimizer.zero_grad()
        loss.backward()
        pairs.append((wanted, model.sensor.weight.grad.clone()))
        optimizer.step()
    return pairs


def verify(outcome):
    for wanted, got in outcome:
        assert (wanted * got).sum() < 0  # the sensor embedding's gradient is reversed, too


TRUTH = Truth(
    fault="the hook changes the gradient in place; addition hands the same tensor to both its inputs: sensor's gradient is reversed with it",
    names=("mul_", "hook", "sensor"),
    repair=("x.register_hook(lambda g: g * -lambd)",),
)
