"""K-FAC by hand for an autoencoder: gradients are averaged over the ranks, then preconditioned."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Autoencoder(nn.Module):
    def __init__(self, dim=10, code=4):
        super().__init__()
        self.encode = nn.Linear(dim, code)
        self.decode = nn.Linear(code, dim)

    def forward(self, x):
        return self.decode(torch.tanh(self.encode(x)))


class KFAC:
    """Keeps running Kronecker factors of each linear layer."""

    def __init__(self, model, decay=0.8, damping=0.05):
        self.layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
        self.decay, self.damping = decay, damping
        self.a, self.s, self.inputs = {}, {}, {}
        for layer in self.layers:
            layer.register_forward_pre_hook(self.keep_input)
            layer.register_full_backward_hook(self.keep_factors)

    def keep_input(self, layer, args):
        self.inputs[layer] = args[0].detach()

    def running(self, store, layer, new):
        old = store.get(layer)
        store[layer] = new if old is None else self.decay * old + (1 - self.decay) * new  # cause

    def keep_factors(self, layer, grad_input, grad_output):
        x = F.pad(self.inputs.pop(layer), (0, 1), value=1.0)
        d = grad_output[0].detach() * len(x)
        self.running(self.a, layer, x.t() @ x / len(x))
        self.running(self.s, layer, d.t() @ d / len(x))

    def precondition(self):
        for layer in self.layers:
            a = self.a[layer] + self.damping * torch.eye(len(self.a[layer]))
            s = self.s[layer] + self.damping * torch.eye(len(self.s[layer]))
            grad = torch.cat([layer.weight.grad, layer.bias.grad[:, None]], 1)
            grad = torch.linalg.solve(s, torch.linalg.solve(a, grad.t()).t())
            layer.weight.grad.copy_(grad[:, :-1])  # also
            layer.bias.grad.copy_(grad[:, -1])  # also


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def setup():
    global model, kfac, opt, g
    torch.manual_seed(0)
    model = Autoencoder()
    kfac = KFAC(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    g = torch.Generator().manual_seed(7 * dist.get_rank())


def run():
    for _ in range(4):
        x = torch.randn(12, 10, generator=g)
        opt.zero_grad()
        F.mse_loss(model(x), x).backward()
        average_gradients(model)
        kfac.precondition()
        opt.step()
    return [round(p.norm().item(), 5) for p in model.parameters()]


TRUTH = Truth(
    fault="the Kronecker factors are each rank's own: averaged gradients are preconditioned differently, weights drift apart",
    rule="AG601",
    names=("encode.weight",),
    values=True,
    where="any",
)
