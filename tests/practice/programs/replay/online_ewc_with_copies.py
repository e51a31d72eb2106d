"""Online EWC: importances and anchors are copies, and the estimate clears the gradients it leaves."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class OnlineEWC:
    def __init__(self, net, gamma=0.9, strength=50.0):
        self.net, self.gamma, self.strength = net, gamma, strength
        self.fisher, self.anchor = {}, {}

    def consolidate(self, batches):
        self.net.eval()
        fresh = {n: torch.zeros_like(p) for n, p in self.net.named_parameters()}
        for x, _ in batches:
            self.net.zero_grad()
            logits = self.net(x)
            with torch.no_grad():
                sampled = torch.distributions.Categorical(logits=logits).sample()
            F.nll_loss(F.log_softmax(logits, -1), sampled).backward()
            for n, p in self.net.named_parameters():
                fresh[n] += p.grad.detach() ** 2 / len(batches)
        self.net.zero_grad()
        self.net.train()
        for n, p in self.net.named_parameters():
            self.fisher[n] = self.gamma * self.fisher[n] + fresh[n] if n in self.fisher else fresh[n]
            self.anchor[n] = p.detach().clone()

    def penalty(self):
        named = self.net.named_parameters()
        terms = [(self.fisher[n] * (p - self.anchor[n]) ** 2).sum() for n, p in named if n in self.fisher]
        return self.strength * sum(terms) / 2


def tasks(n=3, batches=3):
    for _ in range(n):
        rule = torch.randn(6, 3)
        yield [(x, (x @ rule).argmax(-1)) for x in torch.randn(batches, 10, 6)]


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
    ewc, optimizer = OnlineEWC(net), torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    penalties = []
    for batches in tasks():
        for x, y in batches:
            optimizer.zero_grad()
            penalty = ewc.penalty()
            loss = F.cross_entropy(net(x), y) + penalty
            loss.backward()
            optimizer.step()
            penalties.append(float(penalty))
        ewc.consolidate(batches)
    return penalties


TRUTH = Truth()


def verify(penalties):
    assert penalties[0] == 0 and penalties[-1] > 0
