"""A Hugging Face model is compiled in place; its head is replaced after the optimizer was built."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG405 AG404"
NAMES = ("lm_head",)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=8, tie_word_embeddings=False)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters())
    model.lm_head = nn.Linear(8, 16, bias=False)
    model.compile(backend=BACKEND)


def run():
    for _ in range(2):
        ids = torch.randint(16, (2, 6))
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
