"""Shared plus per-domain weights, with gradient centralisation for the domain part: the hook edits the gradient both share."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def centralise(grad):
    """Gradient centralisation (Yong et al.): take the mean over the inputs out of each row."""
    return grad.sub_(grad.mean(dim=1, keepdim=True))  # cause


class DomainLinear(nn.Module):
    """One weight that all domains share, and a correction for each domain."""

    def __init__(self, i, o, domains):
        super().__init__()
        self.deltas = nn.ParameterList(nn.Parameter(torch.zeros(o, i)) for _ in range(domains))
        self.shared = nn.Parameter(torch.empty(o, i))
        nn.init.xavier_uniform_(self.shared)
        self.bias = nn.Parameter(torch.zeros(o))
        for delta in self.deltas:
            delta.register_hook(centralise)

    def forward(self, x, domain):
        weight = self.deltas[domain] + self.shared
        return F.linear(x, weight, self.bias)


class StarRanker(nn.Module):
    def __init__(self, fields=(10, 8), dim=6, domains=2):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, dim) for n in fields)
        self.hidden = DomainLinear(dim * len(fields), 16, domains)
        self.out = nn.Linear(16, 1)

    def forward(self, ids, domain):
        x = torch.cat([table(column) for table, column in zip(self.tables, ids.unbind(1))], -1)
        return self.out(F.relu(self.hidden(x, domain))).squeeze(-1)


def click_batch(domain, n=32):
    ids = torch.stack([torch.randint(0, 10, (n,)), torch.randint(0, 8, (n,))], 1)
    return ids, ((ids.sum(1) + domain) % 3 == 0).float()


def evaluate_gradient(model, ids, clicks, domain):
    """The shared weight's gradient as it should be, for the log."""
    loss = F.binary_cross_entropy_with_logits(model(ids, domain), clicks)
    return torch.autograd.grad(loss, model.hidden.shared)[0]


def run():
    torch.manual_seed(0)
    model = StarRanker()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    pairs = []
    for step in range(4):
        domain = step % 2
        ids, clicks = click_batch(domain)
        expected = evaluate_gradient(model, ids, clicks, domain)
        loss = F.binary_cross_entropy_with_logits(model(ids, domain), clicks)
        optimizer.zero_grad()
        loss.backward()
        pairs.append((expected, model.hidden.shared.grad.clone()))
        optimizer.step()
    return pairs


def verify(pairs):
    for expected, got in pairs:
        assert not torch.allclose(expected, got, rtol=1e-2, atol=1e-6)
        assert got.mean(1).abs().max() < 1e-7


TRUTH = Truth(
    fault="sub_ in the hook of the delta changes the very tensor that is also the shared weight's gradient",
    names=("shared", "centralise"),
    repair=("return grad - grad.mean(dim=1, keepdim=True)",),
)
