"""DeepXDE-like PINN: the inverse problem's unknown is built with torch.tensor from the Parameter, a constant for the residual."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def jacobian(y, x, i):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0][:, i : i + 1]


def hessian(y, x, i):
    return jacobian(jacobian(y, x, i), x, i)


class FNN(nn.Module):
    def __init__(self, layers=(2, 16, 16, 1)):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(layers, layers[1:]))

    def forward(self, x):
        for linear in self.linears[:-1]:
            x = linear(x).tanh()
        return self.linears[-1](x)


class Variable(nn.Module):
    """dde.Variable: an unknown coefficient, kept positive."""

    def __init__(self, value):
        super().__init__()
        self.raw = nn.Parameter(torch.tensor(float(value)).log())

    def __call__(self):
        return self.raw.exp()


class HeatInverse:
    def __init__(self, net, diffusivity):
        self.net, self.diffusivity = net, diffusivity

    def pde(self, x, u):
        return jacobian(u, x, 1) - self.scaled(x) * hessian(u, x, 0)

    def scaled(self, x):
        return torch.stack([torch.tensor(float(self.diffusivity()))] * len(x)).unsqueeze(1)  # cause

    def losses(self, x, observed_x, observed_u):
        x = x.clone().requires_grad_(True)
        residual = self.pde(x, self.net(x))
        return residual.pow(2).mean(), (self.net(observed_x) - observed_u).pow(2).mean()


class Model:
    def __init__(self, data, external_trainable_variables):
        self.data = data
        params = [*data.net.parameters(), *external_trainable_variables]
        self.opt = torch.optim.Adam(params, lr=5e-3)
        self.loss_weights = (1.0, 10.0)

    def train(self, iterations, batch, observed):
        history = []
        for _ in range(iterations):
            terms = self.data.losses(batch(), *observed)
            loss = sum(w * t for w, t in zip(self.loss_weights, terms))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            history.append(self.data.diffusivity().item())
        return history


def run():
    torch.manual_seed(0)
    diffusivity = Variable(2.0)
    model = Model(HeatInverse(FNN(), diffusivity), diffusivity.parameters())
    xo = torch.rand(20, 2)
    uo = (-0.4 * torch.pi**2 * xo[:, 1:]).exp() * (torch.pi * xo[:, :1]).sin()
    return model.train(4, lambda: torch.rand(24, 2), (xo, uo))


def verify(outcome):
    assert len(set(outcome)) == 1


TRUTH = Truth(
    fault="the unknown coefficient is read with float() and wrapped anew: the residual sends it no gradient and it stays at its guess",
    names=("diffusivity", "raw"),
    repair=("return self.diffusivity().expand(len(x), 1)",),
)
