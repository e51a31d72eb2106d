"""A Hugging Face model, compiled in place and trained."""

import torch

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer
    torch.manual_seed(0)
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=8))
    optimizer = torch.optim.AdamW(model.parameters())
    model.compile(backend=BACKEND)


def run():
    for _ in range(2):
        ids = torch.randint(16, (2, 6))
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
