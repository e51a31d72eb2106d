"""A quantiser's Function keeps its output on ctx, a cycle that holds every step's activations until gc runs."""

import gc
import weakref

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FakeQuantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, qmax):
        out = (x / step).round().clamp(-qmax, qmax) * step
        ctx.save_for_backward(x, step)
        ctx.out, ctx.qmax = out, qmax  # cause
        return out

    @staticmethod
    def backward(ctx, grad):
        x, step = ctx.saved_tensors
        inside = (x / step).abs() <= ctx.qmax
        error = (ctx.out - x) / step
        grad_step = (grad * torch.where(inside, error, x.sign() * ctx.qmax)).sum()
        return grad * inside, grad_step / (x.numel() * ctx.qmax) ** 0.5, None


class QuantLinear(nn.Linear):
    """Learned step size quantisation of weights and activations."""

    def __init__(self, inp, out, bits=4):
        super().__init__(inp, out)
        self.qmax = 2 ** (bits - 1) - 1
        self.w_step = nn.Parameter(2 * self.weight.detach().abs().mean() / self.qmax**0.5)
        self.a_step = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        w = FakeQuantise.apply(self.weight, self.w_step, self.qmax)
        return F.linear(FakeQuantise.apply(x, self.a_step, self.qmax), w, self.bias)


class Probe:
    """Lives as long as the graph node that it is attached to."""


class Recorder:
    """Tells how many steps' graphs are still in memory."""

    def __init__(self, module):
        self.refs = []
        module.register_forward_pre_hook(self.attach)

    def attach(self, module, args):
        probe = Probe()
        args[0].grad_fn.metadata["probe"] = probe
        self.refs.append(weakref.ref(probe))

    def alive(self):
        return sum(ref() is not None for ref in self.refs)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), QuantLinear(16, 16), nn.ReLU(), QuantLinear(16, 3))
    recorder = Recorder(model[2])
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    gc.disable()
    try:
        for step in range(4):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(f"step {step} loss {loss.item():.4f} w_step {model[2].w_step.item():.4f}")
        del loss
        return recorder.alive()
    finally:
        gc.enable()


def verify(out):
    assert out == 4


TRUTH = Truth(
    fault="an output kept on ctx makes a cycle with its own node",
    names=("FakeQuantise",),
    repair=("ctx.out, ctx.qmax = out.detach(), qmax",),
)
