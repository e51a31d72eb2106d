"""A one-block GPT twice over: from plain tensors, and as a module."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, layer_norm, scaled_dot_product_attention

VOCABULARY, CONTEXT, WIDTH, HEADS = 48, 8, 16, 2
Weights = dict[str, Tensor]


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal self-attention over several heads."""
    batch, length, width = query.shape
    query, key, value = (t.view(batch, length, HEADS, -1).transpose(1, 2) for t in (query, key, value))
    mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
    return mixed.transpose(1, 2).reshape(batch, length, width)


def make_weights() -> Weights:
    """The tensors of a one-block GPT."""
    shapes = {
        "wte": (VOCABULARY, WIDTH),
        "wpe": (CONTEXT, WIDTH),
        "attn": (WIDTH, 3 * WIDTH),
        "fc": (WIDTH, 4 * WIDTH),
        "proj": (4 * WIDTH, WIDTH),
    }
    weights = {}
    for name, shape in shapes.items():
        weights[name] = torch.empty(shape).normal_(std=1 / math.sqrt(shape[0])).requires_grad_()
    return weights


def gpt(weights: Weights, tokens: Tensor) -> Tensor:
    """Logits of the one-block GPT; the embedding is also the output layer."""
    x = weights["wte"][tokens] + weights["wpe"][: tokens.shape[1]]
    x = x + attend(*(layer_norm(x, (WIDTH,)) @ weights["attn"]).chunk(3, dim=-1))
    x = x + gelu(layer_norm(x, (WIDTH,)) @ weights["fc"]) @ weights["proj"]
    return layer_norm(x, (WIDTH,)) @ weights["wte"].T


class GPT(nn.Module):
    """The same GPT as a module, with a head of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.wpe = nn.Embedding(CONTEXT, WIDTH)
        self.attn = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        x = x + attend(*self.attn(layer_norm(x, (WIDTH,))).chunk(3, dim=-1))
        x = x + self.mlp(layer_norm(x, (WIDTH,)))
        return self.head(layer_norm(x, (WIDTH,)))


def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    """Cross entropy of each token given the ones before it."""
    return cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def sample_tokens() -> Tensor:
    """A batch of random text."""
    return torch.randint(VOCABULARY, (4, CONTEXT))
