import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, x, params=None):
        if params is None:
            params = dict(self.named_parameters())
        x = F.linear(x, params["fc1.weight"], params["fc1.bias"])
        x = torch.tanh(x)
        return F.linear(x, params["fc2.weight"], params["fc2.bias"])


def adapt(net, x, y, inner_lr, steps):
    params = dict(net.named_parameters())
    for _ in range(steps):
        loss = F.mse_loss(net(x, params), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {name: p - inner_lr * g for (name, p), g in zip(params.items(), grads)}
    return params


def run():
    net = Net()
    meta_opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for iteration in range(4):
        meta_loss = 0.0
        for task in range(2):
            amplitude = torch.rand(1) + 0.5
            xs, xq = torch.rand(5, 1) * 4 - 2, torch.rand(5, 1) * 4 - 2
            fast = adapt(net, xs, amplitude * torch.sin(xs), 0.1, 2)
            query = net(xq, fast)
            meta_loss = meta_loss + F.mse_loss(query, amplitude * torch.sin(xq))
        meta_opt.zero_grad()
        meta_loss.backward()
        meta_opt.step()
    return net
