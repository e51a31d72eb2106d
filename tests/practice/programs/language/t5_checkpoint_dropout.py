"""Language modelling: blocks are recomputed without their random state, so that backward sees another dropout than forward."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class T5LayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        return self.weight * hidden_states * torch.rsqrt(variance + self.variance_epsilon)


class T5SelfAttention(nn.Module):
    def __init__(self, d_model, heads, dropout):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.dropout = dropout

    def forward(self, x, bias):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) + bias
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


class T5Block(nn.Module):
    def __init__(self, d_model, heads, dropout):
        super().__init__()
        self.norm1, self.norm2 = T5LayerNorm(d_model), T5LayerNorm(d_model)
        self.attention = T5SelfAttention(d_model, heads, dropout)
        self.wi, self.wo = nn.Linear(d_model, 2 * d_model, bias=False), nn.Linear(2 * d_model, d_model, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, bias):
        x = x + self.drop(self.attention(self.norm1(x), bias))
        return x + self.drop(self.wo(self.drop(F.relu(self.wi(self.norm2(x))))))


class T5Stack(nn.Module):
    def __init__(self, vocab=30, d_model=16, heads=2, layers=2, dropout=0.3, length=8, gradient_checkpointing=True):
        super().__init__()
        self.shared = nn.Embedding(vocab, d_model)
        self.relative_bias = nn.Parameter(torch.zeros(heads, length, length))
        self.block = nn.ModuleList(T5Block(d_model, heads, dropout) for _ in range(layers))
        self.final = T5LayerNorm(d_model)
        self.gradient_checkpointing = gradient_checkpointing
        self.checkpoint_kwargs = {"use_reentrant": False, "preserve_rng_state": False}  # cause

    def forward(self, ids):
        x = self.shared(ids)
        for layer_module in self.block:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer_module, x, self.relative_bias, **self.checkpoint_kwargs)  # also
            else:
                x = layer_module(x, self.relative_bias)
        return self.final(x) @ self.shared.weight.t() * x.size(-1) ** -0.5


def span_corruption(ids, rate=0.25, sentinel=29):
    mask = torch.rand(ids.shape) < rate
    return ids.masked_fill(mask, sentinel), torch.where(mask, ids, -100)


def gradients(model, ids, labels, use):
    model.gradient_checkpointing = use
    torch.manual_seed(77)
    loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
    model.zero_grad()
    loss.backward()
    grad = model.block[0].wi.weight.grad.clone()
    model.zero_grad()
    model.gradient_checkpointing = True
    return grad


def run():
    torch.manual_seed(0)
    model = T5Stack()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(2):
        inputs, labels = span_corruption(torch.randint(0, 28, (4, 8)))
        loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return gradients(model, inputs, labels, True), gradients(model, inputs, labels, False)


def verify(outcome):
    checkpointed, plain = outcome
    assert not torch.allclose(checkpointed, plain, atol=1e-5)


TRUTH = Truth(
    fault="checkpoint() recomputes with other dropout masks: preserve_rng_state=False",
    names=("checkpoint",),
    repair=('self.checkpoint_kwargs = {"use_reentrant": False, "preserve_rng_state": True}',),
)
