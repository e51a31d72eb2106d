"""Learning to reweight examples: if no example helps, all weights are clamped to zero and their sum divides them."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, 16), nn.ReLU())
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.features(x)).squeeze(1)


def example_weights(net, x, y, x_val, y_val, lr):
    params = dict(net.named_parameters())
    eps = torch.zeros(len(x), requires_grad=True)
    cost = F.binary_cross_entropy_with_logits(net(x), y, reduction="none")
    grads = torch.autograd.grad((eps * cost).sum(), list(params.values()), create_graph=True)
    ahead = {n: p - lr * g for (n, p), g in zip(params.items(), grads)}
    val = F.binary_cross_entropy_with_logits(functional_call(net, ahead, (x_val,)), y_val)
    (g_eps,) = torch.autograd.grad(val, eps)
    w = torch.clamp(-g_eps, min=0)
    return w / w.sum()  # cause


def batch(n, flip=0.0):
    x = torch.randn(n, 2)
    y = (x[:, 0] > 0).float()
    noisy = torch.rand(n) < flip
    return x, torch.where(noisy, 1 - y, y)


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x_val, y_val = batch(8)
    for flip in (0.2, 0.5, 1.0):  # the label noise of the three shards
        for _ in range(3):
            x, y = batch(3, flip)
            w = example_weights(net, x, y, x_val, y_val, lr=0.1)
            loss = (w * F.binary_cross_entropy_with_logits(net(x), y, reduction="none")).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(f"flip {flip} loss {loss.item():.4f} used {(w > 0).sum().item()}")
    return net


def verify(net):
    assert net.out.weight.isnan().any()


TRUTH = Truth(
    values=True,
    fault="0/0 in the normalization of the example weights",
    repair=("return w / w.sum().clamp(min=1e-8)",),
)
