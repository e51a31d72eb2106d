"""Feedback alignment: backward uses a fixed random matrix instead of the transposed weight; gradients are wrong by design."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class FALinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, feedback, bias):
        ctx.save_for_backward(x, feedback)
        return torch.addmm(bias, x, weight.t())

    @staticmethod
    def backward(ctx, grad):
        x, feedback = ctx.saved_tensors
        grad_x = grad @ feedback if ctx.needs_input_grad[0] else None
        return grad_x, grad.t() @ x, None, grad.sum(0)


class FALinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.register_buffer("feedback", torch.randn(outputs, inputs) / outputs**0.5)

    def forward(self, x):
        return FALinearFunction.apply(x, self.weight, self.feedback, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([FALinear(5, 10), FALinear(10, 10), FALinear(10, 3)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


def run():
    torch.manual_seed(0)
    net = Net().double()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    log = []
    for _ in range(3):
        x, y = torch.randn(8, 5, dtype=torch.double), torch.randint(3, (8,))
        state = {k: v.clone() for k, v in net.state_dict().items()}
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        log.append((x, y, state, {n: p.grad.clone() for n, p in net.named_parameters()}))
        opt.step()
    return net, log


def verify(outcome):
    net, log = outcome
    for x, y, s, grads in log:
        acts = [x]
        for i in range(3):
            z = acts[-1] @ s[f"layers.{i}.weight"].T + s[f"layers.{i}.bias"]
            acts.append(z.tanh() if i < 2 else z)
        d = (acts[3].softmax(1) - F.one_hot(y, 3)) / len(y)
        for i in (2, 1, 0):
            assert torch.allclose(grads[f"layers.{i}.weight"], d.T @ acts[i], atol=1e-10)
            assert torch.allclose(grads[f"layers.{i}.bias"], d.sum(0), atol=1e-10)
            d = d @ s[f"layers.{i}.feedback"] * (1 - acts[i] ** 2)
    final = net.state_dict()
    for k, v in log[0][2].items():
        assert torch.equal(v, final[k]) == k.endswith("feedback")


TRUTH = Truth()
