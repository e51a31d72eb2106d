"""DP-SGD by hand: each sample's gradient is clipped alone, summed, noised and handed to the optimizer."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PrivateSGD:
    def __init__(self, model, bound=1.0, sigma=0.5, lr=0.1):
        self.model, self.bound, self.sigma = model, bound, sigma
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(self.params, lr=lr, momentum=0.5)

    def step(self, xs, ys):
        total = [torch.zeros_like(p) for p in self.params]
        losses = []
        for x, y in zip(xs, ys):
            self.model.zero_grad(set_to_none=True)
            loss = F.cross_entropy(self.model(x[None]), y[None])
            loss.backward()
            nn.utils.clip_grad_norm_(self.params, self.bound)
            for t, p in zip(total, self.params):
                t.add_(p.grad)
            losses.append(loss.item())
        for t, p in zip(total, self.params):
            p.grad = t.add_(torch.randn_like(t), alpha=self.sigma * self.bound).div_(len(xs))
        self.optimizer.step()
        return sum(losses) / len(losses)


def new_model():
    return nn.Sequential(nn.Linear(5, 12), nn.GroupNorm(3, 12), nn.ReLU(), nn.Linear(12, 3))


def run(rounds=2, clients=3):
    torch.manual_seed(0)
    server = new_model()
    start = server[0].weight.detach().clone()
    data = [(torch.randn(6, 5), torch.randint(0, 3, (6,))) for _ in range(clients)]
    for _ in range(rounds):
        states = []
        for x, y in data:
            local = new_model()
            local.load_state_dict(server.state_dict())
            trainer = PrivateSGD(local)
            for half in (slice(0, 3), slice(3, 6)):
                trainer.step(x[half], y[half])
            states.append(local.state_dict())
        server.load_state_dict({k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]})
    return server[0].weight, start


TRUTH = Truth()


def verify(out):
    assert not torch.equal(*out)
