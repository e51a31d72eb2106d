"""Two branches of different depth: hooks scale the gradient that each sends back to the trunk, as the paper says."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def scale_gradient(x, scale):
    if x.requires_grad and scale != 1.0:
        x = x.view_as(x)
        x.register_hook(lambda g: g * scale)
    return x


class MuZeroLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.represent = nn.Sequential(nn.Linear(5, 12), nn.ReLU())
        self.dynamics = nn.Linear(12 + 2, 12)
        self.reward, self.policy, self.value = nn.Linear(12, 1), nn.Linear(12, 2), nn.Linear(12, 1)

    def unroll(self, obs, actions):
        h = self.represent(obs)
        outs = [(self.policy(h), self.value(h), None)]
        for a in actions.unbind(1):
            h = torch.tanh(self.dynamics(torch.cat([h, F.one_hot(a, 2).float()], 1)))
            h = scale_gradient(h, 0.5)
            outs.append((self.policy(h), self.value(h), self.reward(h)))
        return outs


def run():
    torch.manual_seed(0)
    net, K = MuZeroLike(), 3
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    log = []
    for _ in range(3):
        obs, actions = torch.randn(8, 5), torch.randint(2, (8, K))
        target_p, target_v, target_r = torch.rand(K + 1, 8, 2), torch.randn(K + 1, 8, 1), torch.randn(K + 1, 8, 1)
        total = 0.0
        for k, (p, v, r) in enumerate(net.unroll(obs, actions)):
            loss = F.cross_entropy(p, target_p[k] / target_p[k].sum(1, keepdim=True)) + 0.25 * F.mse_loss(
                v, target_v[k]
            )
            if r is not None:
                loss = loss + F.mse_loss(r, target_r[k])
                loss = scale_gradient(loss, 1.0 / K)
            total = total + loss
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        log.append(total.item())
    return net, log


TRUTH = Truth()


def verify(out):
    net, log = out
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())
    assert all(0 < v < 100 for v in log)
