"""What is measured: a chain of tiny ops, and training steps of language models, randomly initialised."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel, T5Config, T5ForConditionalGeneration
from transformers.utils import logging

logging.set_verbosity_error()  # A vocabulary without an end token is no concern of a benchmark's.
TOKENS = 64


class Chain(nn.Module):
    """``x + 1`` again and again: all overhead, no arithmetic to hide behind."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.length):
            x = x + 1
        return x.sum()


class Language(nn.Module):
    """A language model as one call from tokens to loss."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model.train()

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(input_ids=tokens, labels=tokens).loss


class Subject(NamedTuple):
    """A module, the input it is called with, and how many of its ops a figure per op counts (0: none)."""

    name: str
    module: nn.Module
    example: Tensor
    length: int = 0

    def forward(self) -> Tensor:
        return self.module(self.example)

    def forward_backward(self) -> None:
        self.module.zero_grad()
        self.forward().backward()


def clipped_training(layers: int, steps: int = 6) -> Callable[[], None]:
    """Steps of many small parameters, whose gradients are measured, clipped and stepped one by one."""
    module = nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers)))
    optimizer, example = torch.optim.AdamW(module.parameters()), torch.ones(4, 8)

    def train() -> None:
        for _ in range(steps):
            module(example).pow(2).mean().backward()
            sum(p.grad.pow(2).sum() for p in module.parameters()).sqrt().item()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return train


def chain(length: int) -> Subject:
    return Subject(f"a chain of {length:,} tiny ops", Chain(length), torch.ones(4, requires_grad=True), length)


def gpt2(*, quick: bool = False, narrow: bool = False) -> Subject:
    size = {"n_embd": 24, "vocab_size": 64} if narrow else {}
    config = GPT2Config(n_layer=2 if quick else 12, use_cache=False, **size)
    return _language("GPT-2 small", GPT2LMHeadModel(config), config.n_layer, quick=quick)


def language_model(layers: int) -> Subject:
    """GPT-2 of any depth, on narrow tensors."""
    config = GPT2Config(n_layer=layers, n_embd=24, vocab_size=64, use_cache=False)
    return _language(f"GPT-2 of {layers} layers", GPT2LMHeadModel(config), layers, quick=False)


def t5(*, quick: bool = False, narrow: bool = False) -> Subject:
    size = {"d_model": 16, "d_kv": 2, "d_ff": 32, "vocab_size": 64} if narrow else {}
    config = T5Config(num_layers=2 if quick else 6, decoder_start_token_id=0, **size)
    return _language("T5-small", T5ForConditionalGeneration(config), config.num_layers, quick=quick)


def _language(name: str, model: PreTrainedModel, layers: int, *, quick: bool) -> Subject:
    title = f"{name}, cut to {layers} layers" if quick else name
    return Subject(title, Language(model), torch.randint(0, model.config.vocab_size, (1, TOKENS)))


def training_step(subject: Subject) -> Callable[[], None]:
    """Forward, backward, AdamW step."""
    optimizer = torch.optim.AdamW(subject.module.parameters(), lr=1e-4)

    def step() -> None:
        subject.forward().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
