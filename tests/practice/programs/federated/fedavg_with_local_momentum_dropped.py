"""FedAvg + server Adam: clients load the global weights in place each round, fresh local SGD, the pseudo-gradient goes to server .grad."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Client:
    def __init__(self, template, x, y):
        self.model, self.x, self.y = copy.deepcopy(template), x, y

    def fit(self, state, steps):
        self.model.load_state_dict(state)
        opt = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)  # local state is not kept, as published
        for _ in range(steps):
            opt.zero_grad()
            F.cross_entropy(self.model(self.x), self.y).backward()
            opt.step()
        return {k: v.detach().clone() for k, v in self.model.state_dict().items()}, len(self.x)


class Server:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=0.02, eps=1e-3)

    def round(self, clients):
        state = self.model.state_dict()
        results = [c.fit(state, steps=2) for c in clients]
        total = sum(n for _, n in results)
        for name, p in self.model.named_parameters():
            mean = sum(s[name] * (n / total) for s, n in results)
            p.grad = p.detach() - mean
        self.opt.step()
        self.opt.zero_grad()


def setting():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    g = torch.Generator().manual_seed(9)
    shards = [(torch.randn(n, 4, generator=g), torch.randint(2, (n,), generator=g)) for n in (10, 4, 7)]
    return model, shards


def run():
    model, shards = setting()
    clients = [Client(model, *s) for s in shards]
    server = Server(model)
    for r in range(3):
        server.round([clients[r % 3], clients[(r + 1) % 3]])  # partial participation
    return model


def verify(model):
    twin, shards = setting()
    params = list(twin.parameters())
    start = [p.detach().clone() for p in params]
    m, v = [torch.zeros_like(p) for p in params], [torch.zeros_like(p) for p in params]
    for r in range(3):
        center = [p.detach().clone() for p in params]
        picked = [shards[r % 3], shards[(r + 1) % 3]]
        mean = [torch.zeros_like(p) for p in params]
        for x, y in picked:
            w, vel = [c.clone() for c in center], [0] * 4
            for _ in range(2):
                for p, a in zip(params, w):
                    p.data = a.clone()
                grads = torch.autograd.grad(F.cross_entropy(twin(x), y), params)
                vel = [0.9 * b + g for b, g in zip(vel, grads)]
                w = [a - 0.1 * b for a, b in zip(w, vel)]
            mean = [a + b * len(x) / sum(len(s[0]) for s in picked) for a, b in zip(mean, w)]
        for i, p in enumerate(params):
            g = center[i] - mean[i]
            m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g * g
            p.data = center[i] - 0.02 * m[i] / (1 - 0.9 ** (r + 1)) / ((v[i] / (1 - 0.999 ** (r + 1))).sqrt() + 1e-3)
    for a, b, s in zip(model.parameters(), params, start):
        assert torch.allclose(a, b, atol=1e-5) and not torch.equal(a, s)


TRUTH = Truth()
