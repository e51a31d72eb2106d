"""MAML: the gradients are cleared for each task, so of a batch of tasks only the last one counts."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(20, 1))
        self.b1 = nn.Parameter(torch.zeros(20))
        self.w2 = nn.Parameter(torch.randn(1, 20) / 5)
        self.b2 = nn.Parameter(torch.zeros(1))

    def forward(self, x, params=None):
        w1, b1, w2, b2 = self.parameters() if params is None else params
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def inner_loop(net, x, y, lr=0.05):
    params = list(net.parameters())
    loss = F.mse_loss(net(x), y)
    grads = torch.autograd.grad(loss, params, create_graph=True)
    return [p - lr * g for p, g in zip(params, grads)]


def tasks(n):
    for _ in range(n):
        a, b = torch.rand(2) * 3
        x = torch.rand(10, 1) * 6 - 3
        y = a * torch.sin(x + b)
        yield x[:5], y[:5], x[5:], y[5:]


META_LR = 0.01


def run(meta_batch=4):
    torch.manual_seed(0)
    net = Net()
    meta_opt = torch.optim.SGD(net.parameters(), lr=META_LR)
    last = None
    for it in range(2):
        log = []
        for xs, ys, xq, yq in tasks(meta_batch):
            meta_opt.zero_grad()  # cause
            loss = F.mse_loss(net(xq, inner_loop(net, xs, ys)), yq) / meta_batch
            loss.backward()
            log.append(loss.item())
            last = xs, ys, xq, yq
        meta_opt.step()
        print(f"it {it} meta loss {sum(log):.4f}")
    return net, last


def verify(out):
    net, (xs, ys, xq, yq) = out
    before = Net()
    with torch.no_grad():
        for b, p in zip(before.parameters(), net.parameters()):
            b.copy_(p + META_LR * p.grad)  # undo the last step
    F.mse_loss(before(xq, inner_loop(before, xs, ys)), yq).div(4).backward()
    assert torch.allclose(before.w2.grad, net.w2.grad, atol=1e-4)


TRUTH = Truth(
    fault="zero_grad inside the loop over the tasks",
    names=("zero_grad",),
    repair=("meta_opt.zero_grad() if not log else None",),
)
