"""Physics-informed: the closure of L-BFGS lost its zero_grad, so that every evaluation adds to the gradients of the last ones."""

import math

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class DNN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        mods = []
        for i in range(len(layers) - 2):
            mods += [nn.Linear(layers[i], layers[i + 1]), nn.Tanh()]
        mods.append(nn.Linear(layers[-2], layers[-1]))
        self.layers = nn.Sequential(*mods)

    def forward(self, x):
        return self.layers(x)


class PhysicsInformedNN:
    """Burgers' equation u_t + l1 u u_x - exp(l2) u_xx = 0 with unknown l1 and l2."""

    def __init__(self, X, u, layers, lb, ub):
        self.lb, self.ub = lb, ub
        self.x = X[:, 0:1].clone().requires_grad_(True)
        self.t = X[:, 1:2].clone().requires_grad_(True)
        self.u = u
        self.lambda_1 = nn.Parameter(torch.tensor([0.0]))
        self.lambda_2 = nn.Parameter(torch.tensor([-6.0]))
        self.dnn = DNN(layers)
        self.dnn.register_parameter("lambda_1", self.lambda_1)
        self.dnn.register_parameter("lambda_2", self.lambda_2)
        self.optimizer = torch.optim.LBFGS(
            self.dnn.parameters(), lr=0.5, max_iter=6, max_eval=10, history_size=10, line_search_fn=None
        )
        self.optimizer_Adam = torch.optim.Adam(self.dnn.parameters(), lr=1e-3)
        self.iter = 0
        self.agree = []

    def net_u(self, x, t):
        X = torch.cat([x, t], dim=1)
        return self.dnn(2.0 * (X - self.lb) / (self.ub - self.lb) - 1.0)

    def net_f(self, x, t):
        u = self.net_u(x, t)
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, grad_outputs=ones, retain_graph=True, create_graph=True)[0]
        return u_t + self.lambda_1 * u * u_x - torch.exp(self.lambda_2) * u_xx

    def loss(self):
        u_pred = self.net_u(self.x, self.t)
        f_pred = self.net_f(self.x, self.t)
        return torch.mean((self.u - u_pred) ** 2) + torch.mean(f_pred**2)

    def loss_func(self):
        loss = self.loss()
        fresh = torch.autograd.grad(loss, self.lambda_1, retain_graph=True)[0]
        loss.backward()  # cause
        self.iter += 1
        self.agree.append(torch.allclose(self.lambda_1.grad, fresh))
        return loss

    def train(self, nIter):
        self.dnn.train()
        for epoch in range(nIter):
            loss = self.loss()
            self.optimizer_Adam.zero_grad()
            loss.backward()
            self.optimizer_Adam.step()
        self.optimizer_Adam.zero_grad()
        self.optimizer.step(self.loss_func)

    def predict(self, X):
        x, t = X[:, 0:1].clone().requires_grad_(True), X[:, 1:2].clone().requires_grad_(True)
        self.dnn.eval()
        return self.net_u(x, t).detach(), self.net_f(x, t).detach()


def run():
    torch.manual_seed(1234)
    X = torch.rand(40, 2) * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])
    u = -torch.sin(math.pi * X[:, 0:1]) * torch.exp(-X[:, 1:2])
    model = PhysicsInformedNN(X, u, [2, 10, 10, 1], X.min(0).values, X.max(0).values)
    model.train(3)
    model.predict(X[:5])
    return model.agree


def verify(agree):
    assert len(agree) > 2 and agree[0] and not any(agree[1:])


TRUTH = Truth(
    fault="the closure of L-BFGS does not clear the gradients",
    names=("zero_grad",),
    repair=("self.optimizer.zero_grad()\nloss.backward()",),
)
