"""FedProx: the proximal term is computed of `.data`, so it shows in the log and pulls at nothing."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class KeywordNet(nn.Module):
    def __init__(self, mels=6, classes=4):
        super().__init__()
        self.conv = nn.Conv1d(mels, 8, 3, padding=1)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).mean(-1))


class ProxClient:
    def __init__(self, data, mu=0.5, epochs=2):
        self.data, self.mu, self.epochs = data, mu, epochs

    def proximal(self, model, anchors):
        prox = 0.0
        for w, w_global in zip(model.parameters(), anchors):
            prox = prox + ((w.data - w_global) ** 2).sum()  # cause
        return 0.5 * self.mu * prox

    def train(self, global_model):
        model = copy.deepcopy(global_model)
        anchors = [p.detach().clone() for p in global_model.parameters()]
        opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        model.train()
        for _ in range(self.epochs):
            for x, y in self.data:
                opt.zero_grad()
                ce = F.cross_entropy(model(x), y)
                prox = self.proximal(model, anchors)
                loss = ce + prox  # symptom
                loss.backward()
                opt.step()
        return model, {"ce": ce.item(), "prox": float(prox)}


def weighted_average(global_model, models, sizes):
    total = sum(sizes)
    with torch.no_grad():
        for p, *ps in zip(global_model.parameters(), *(m.parameters() for m in models)):
            p.copy_(sum(q * (n / total) for q, n in zip(ps, sizes)))


def run():
    torch.manual_seed(0)
    model = KeywordNet()
    clients = [ProxClient([(torch.randn(6, 6, 10), torch.randint(0, 4, (6,))) for _ in range(n)]) for n in (1, 2, 2)]
    for rnd in range(2):
        results = [c.train(model) for c in clients]
        weighted_average(model, [m for m, _ in results], [len(c.data) for c in clients])
        for i, (_, logs) in enumerate(results):
            print(f"round {rnd} client {i} ce {logs['ce']:.4f} prox {logs['prox']:.5f}")
    return clients[0], results[0][0], model


def verify(out):
    client, local, model = out
    assert not client.proximal(local, [p.detach() for p in model.parameters()]).requires_grad


TRUTH = Truth(
    fault="the proximal term has no gradient",
    names=("data",),
    repair=("prox = prox + ((w - w_global) ** 2).sum()",),
)
