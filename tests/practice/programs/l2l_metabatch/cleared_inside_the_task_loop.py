"""MAML in the manner of learn2learn: zero_grad stands in the loop over tasks: only the last task of a meta-batch counts."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

from tests.practice.truth import Truth


class SineNet(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x)


class Learner:
    def __init__(self, module, lr, params=None):
        self.module, self.lr = module, lr
        self.params = dict(module.named_parameters()) if params is None else params

    def __call__(self, x):
        return functional_call(self.module, self.params, (x,))

    def adapt(self, loss):
        grads = torch.autograd.grad(loss, list(self.params.values()), create_graph=True)
        self.params = {n: p - self.lr * g for (n, p), g in zip(self.params.items(), grads)}


class MAML:
    def __init__(self, module, lr):
        self.module, self.lr = module, lr

    def clone(self):
        return Learner(self.module, self.lr)


def sample_task(k=8):
    amplitude, phase = 0.5 + 4 * torch.rand(()), 3 * torch.rand(())
    x = torch.rand(2 * k, 1) * 10 - 5
    y = amplitude * (x + phase).sin()
    return (x[:k], y[:k]), (x[k:], y[k:])


def fast_adapt(learner, support, query, steps=1):
    for _ in range(steps):
        learner.adapt(F.mse_loss(learner(support[0]), support[1]))
    return F.mse_loss(learner(query[0]), query[1])


def run():
    torch.manual_seed(0)
    model = SineNet()
    maml = MAML(model, lr=0.05)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    meta_batch_size = 4
    pairs = []
    for _ in range(3):
        single = []
        for _ in range(meta_batch_size):
            opt.zero_grad()  # cause
            learner = maml.clone()
            evaluation_error = fast_adapt(learner, *sample_task())
            single.append(torch.autograd.grad(evaluation_error, model.net[0].weight, retain_graph=True)[0])
            evaluation_error.backward()
        pairs.append((model.net[0].weight.grad.clone(), single))
        for p in model.parameters():
            p.grad.mul_(1.0 / meta_batch_size)
        opt.step()
        opt.zero_grad()
    return pairs


def verify(outcome):
    for got, single in outcome:
        assert torch.allclose(got, single[-1])
        assert not torch.allclose(got, sum(single))


TRUTH = Truth(
    fault="opt.zero_grad() in the task loop throws away the meta-gradients of all tasks but the last, whose gradient is divided by 4",
    names=("zero_grad",),
    repair=("# cleared once for each meta-batch",),
)
