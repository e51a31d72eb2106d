"""Resume after a refactoring: weights are loaded by name, Adam's moments by position, and the order has changed."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class AttentionV1(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        y = F.scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), is_causal=True)
        return self.o_proj(y.squeeze(1))


class AttentionV2(AttentionV1):
    """The same with cross attention in mind: keys and values first."""

    def __init__(self, dim):
        nn.Module.__init__(self)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)


class LM(nn.Module):
    def __init__(self, attention, vocab=32, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.attn = attention(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(x + self.attn(self.norm(x)))


def make(attention):
    model = LM(attention)
    return model, torch.optim.AdamW(model.parameters(), lr=3e-3)


def train(model, optimizer, steps):
    for _ in range(steps):
        ids = torch.randint(0, 32, (8, 11))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def reorder(state, old_names, model):
    """Move the entries of an optimizer's state to where the new model has the parameters."""
    state = copy.deepcopy(state)
    state["state"] = {i: state["state"][old_names.index(n)] for i, (n, _) in enumerate(model.named_parameters())}
    return state


def run():
    torch.manual_seed(0)
    model, optimizer = make(AttentionV1)
    train(model, optimizer, 3)
    names = [n for n, _ in model.named_parameters()]
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "names": names}
    checkpoint = copy.deepcopy(checkpoint)
    moments = {n: optimizer.state[p]["exp_avg"].clone() for n, p in model.named_parameters()}

    model, optimizer = make(AttentionV2)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])  # cause
    loaded = {n: optimizer.state[p]["exp_avg"].clone() for n, p in model.named_parameters()}
    train(model, optimizer, 2)
    return moments, loaded


def verify(outcome):
    moments, loaded = outcome
    assert torch.equal(moments["embed.weight"], loaded["embed.weight"])
    assert torch.equal(moments["attn.q_proj.weight"], loaded["attn.k_proj.weight"])
    assert not torch.equal(moments["attn.q_proj.weight"], loaded["attn.q_proj.weight"])


TRUTH = Truth(
    fault="the optimizer's state is matched by position: q, k and v of one shape get each other's moments",
    names=("q_proj", "k_proj", "v_proj", "exp_avg", "load_state_dict"),
    repair=("optimizer.load_state_dict(reorder(checkpoint['optimizer'], checkpoint['names'], model))",),
)
