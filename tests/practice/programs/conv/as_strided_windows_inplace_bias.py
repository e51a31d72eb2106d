"""Hand-written 1-D convolution: overlapping as_strided windows, matmul, in-place bias, in-place GELU input reuse that is valid."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def windows(x, k):
    b, c, n = x.shape
    sb, sc, sn = x.stride()
    return x.as_strided((b, n - k + 1, c, k), (sb, sn, sc, sn))


class StridedConv(nn.Module):
    def __init__(self, cin, cout, k):
        super().__init__()
        self.k = k
        self.weight = nn.Parameter(torch.randn(cout, cin * k) / (cin * k) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(cout))

    def forward(self, x):
        padded = x.new_zeros(x.shape[0], x.shape[1], x.shape[2] + self.k - 1)
        padded[:, :, self.k - 1 :] = x  # causal padding, written into a view
        out = windows(padded, self.k).flatten(2) @ self.weight.T
        out += self.bias
        return out.transpose(1, 2)


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = StridedConv(1, 6, 3), StridedConv(6, 6, 2)
        self.head = nn.Linear(6, 1)

    def forward(self, x):
        h = self.c1(x)
        h = h.contiguous().mul_(0.5)
        h = torch.relu_(self.c2(h))
        return self.head(h.transpose(1, 2)).squeeze(-1)


def plain(model, x):
    w1, w2 = model.c1.weight.view(6, 1, 3), model.c2.weight.view(6, 6, 2)
    h = F.conv1d(F.pad(x, (2, 0)), w1, model.c1.bias) * 0.5
    h = F.relu(F.conv1d(F.pad(h, (1, 0)), w2, model.c2.bias))
    return model.head(h.transpose(1, 2)).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = WaveNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    log = []
    for _ in range(3):
        x = torch.randn(4, 1, 10).cumsum(-1)
        state = {k: v.clone() for k, v in model.state_dict().items()}
        loss = (model(x[..., :-1]) - x[:, 0, 1:]).square().mean()
        opt.zero_grad()
        loss.backward()
        log.append((x, state, [p.grad.clone() for p in model.parameters()]))
        opt.step()
    return model, start, log


def verify(outcome):
    model, start, log = outcome
    twin = WaveNet()
    for x, state, grads in log:
        twin.load_state_dict(state)
        wanted = torch.autograd.grad((plain(twin, x[..., :-1]) - x[:, 0, 1:]).square().mean(), list(twin.parameters()))
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(grads, wanted))
    assert all(not torch.equal(v, start[k]) for k, v in model.state_dict().items())


TRUTH = Truth()
