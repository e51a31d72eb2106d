"""Diagonal Fisher in the middle of an accumulation: gradients are set aside, RNG forked, mode switched, all put back."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.bn = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.2)
        self.fc2 = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.bn(self.fc1(x)))))


class FisherProbe:
    def __init__(self, model):
        self.model = model

    def __call__(self, x):
        params = list(self.model.parameters())
        stash = [p.grad for p in params]
        for p in params:
            p.grad = None
        was_training = self.model.training
        self.model.eval()
        diagonal = [torch.zeros_like(p) for p in params]
        with torch.random.fork_rng():
            for sample in x:
                log_p = self.model(sample[None]).log_softmax(-1)
                label = torch.distributions.Categorical(logits=log_p.detach()).sample()
                log_p[0, label].sum().backward()
                for d, p in zip(diagonal, params):
                    d.addcmul_(p.grad, p.grad, value=1 / len(x))
                    p.grad = None
        self.model.train(was_training)
        for p, g in zip(params, stash):
            p.grad = g
        return sum(d.sum() for d in diagonal).item()


def train(probing):
    torch.manual_seed(0)
    model = Net()
    probe = FisherProbe(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    traces = []
    for step in range(6):
        x = torch.randn(8, 8)
        (F.cross_entropy(model(x), x[:, :4].argmax(1)) / 2).backward()
        if probing and step % 2 == 0:
            traces.append(probe(x))
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
    return model.state_dict(), traces


def run():
    return train(True), train(False)


def verify(outcome):
    (probed, traces), (plain, _) = outcome
    assert len(traces) == 3 and min(traces) > 0
    assert all(torch.equal(probed[k], plain[k]) for k in plain)


TRUTH = Truth()
