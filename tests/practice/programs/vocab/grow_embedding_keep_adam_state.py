"""Vocabulary growth in mid training: a larger tied embedding is swapped in and Adam's moments are padded and moved over."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class TiedLM(nn.Module):
    def __init__(self, vocab, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, vocab, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        return self.out(torch.tanh(self.mix(self.embed(ids))))


def grow(model, opt, extra):
    old = model.embed.weight
    fresh = old.detach().mean(0, keepdim=True).expand(extra, -1) + 0.01 * torch.randn(extra, old.shape[1])
    new = nn.Parameter(torch.cat([old.detach(), fresh]))
    model.embed.weight = model.out.weight = new
    model.embed.num_embeddings = model.out.out_features = len(new)
    for group in opt.param_groups:
        group["params"] = [new if p is old else p for p in group["params"]]
    state = opt.state.pop(old)
    for key in ("exp_avg", "exp_avg_sq"):
        state[key] = torch.cat([state[key], state[key].new_zeros(extra, old.shape[1])])
    opt.state[new] = state
    return old


def train(steps, opt, model, vocab, generator):
    for _ in range(steps):
        ids = torch.randint(vocab, (12, 2), generator=generator)
        opt.zero_grad()
        F.cross_entropy(model(ids[:, 0]), ids[:, 1]).backward()
        opt.step()


def run():
    torch.manual_seed(0)
    model = TiedLM(10)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(5)
    train(2, opt, model, 10, g)
    old = grow(model, opt, 4)
    grown = {k: v.clone() for k, v in model.state_dict().items()}
    moments = {k: v.clone() for k, v in opt.state[model.embed.weight].items()}
    train(1, opt, model, 14, g)
    third = model.embed.weight.detach().clone()
    train(1, opt, model, 14, g)
    return model, opt, old, grown, moments, third


def verify(outcome):
    model, opt, old, grown, moments, third = outcome
    w = model.embed.weight
    assert model.out.weight is w and old not in opt.state and opt.state[w]["step"] == 4
    assert torch.equal(grown["embed.weight"][:10], old) and not torch.equal(w[10:], grown["embed.weight"][10:])
    again = TiedLM(14)
    again.load_state_dict(grown)
    m, v, t = moments["exp_avg"], moments["exp_avg_sq"], 2
    g = torch.Generator().manual_seed(5)
    [torch.randint(10, (12, 2), generator=g) for _ in range(2)]
    ids = torch.randint(14, (12, 2), generator=g)
    (grad,) = torch.autograd.grad(F.cross_entropy(again(ids[:, 0]), ids[:, 1]), again.embed.weight)
    m, v, t = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2, t + 1
    step = again.embed.weight - 1e-2 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    assert torch.allclose(step, third, atol=1e-6) and not torch.equal(third, w)


TRUTH = Truth()
