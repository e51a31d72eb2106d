"""'Free' adversarial training: one backward serves the weights and the perturbation, which is a persistent leaf updated in place."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

EPSILON, REPLAYS = 0.3, 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 16, 3)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))


class FreeAdversary:
    def __init__(self, shape):
        self.delta = torch.zeros(shape, requires_grad=True)

    def apply(self, x):
        view = self.delta[: len(x)]
        return (x + view).clamp(-2, 2)

    def ascend(self):
        with torch.no_grad():
            self.delta.add_(self.delta.grad.sign(), alpha=EPSILON).clamp_(-EPSILON, EPSILON)
        self.delta.grad.zero_()


def build():
    torch.manual_seed(0)
    return Net()


def data():
    g = torch.Generator().manual_seed(2)
    return [(torch.randn(n, 1, 6, 6, generator=g), torch.randint(3, (n,), generator=g)) for n in (6, 6, 4)]


def run():
    net = build()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    adversary = FreeAdversary((6, 1, 6, 6))
    for x, y in data():
        for _ in range(REPLAYS):
            opt.zero_grad()
            F.cross_entropy(net(adversary.apply(x)), y).backward()
            adversary.ascend()
            opt.step()
    return net, adversary.delta.detach().clone()


def verify(outcome):
    net, delta = outcome
    plain = build()
    start = [p.detach().clone() for p in plain.parameters()]
    params, velocity = list(plain.parameters()), None
    d = torch.zeros(6, 1, 6, 6)
    for x, y in data():
        for _ in range(REPLAYS):
            leaf = d[: len(x)].clone().requires_grad_()
            loss = F.cross_entropy(plain((x + leaf).clamp(-2, 2)), y)
            gd, *grads = torch.autograd.grad(loss, [leaf, *params])
            d[: len(x)] = (d[: len(x)] + EPSILON * gd.sign()).clamp(-EPSILON, EPSILON)
            velocity = grads if velocity is None else [0.9 * v + g for v, g in zip(velocity, grads)]
            for p, v in zip(params, velocity):
                p.data -= 0.1 * v
    assert torch.allclose(d, delta, atol=1e-6) and delta.abs().max() > 0.2
    for a, b, s in zip(net.parameters(), params, start):
        assert torch.allclose(a, b, atol=1e-5) and not torch.equal(a, s)


TRUTH = Truth()
