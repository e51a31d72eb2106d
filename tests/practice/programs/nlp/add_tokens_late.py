"""Language: special tokens are added to a GPT-2 after the optimizer was made; the new embedding is not in it."""

import os

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
from torch.optim.lr_scheduler import LambdaLR
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth

VOCAB = 40


class Dialogue:
    """Turns of a conversation, each behind the token of its speaker."""

    def __init__(self, speakers, turns=2, length=5):
        self.speakers, self.turns, self.length = speakers, turns, length

    def batch(self, n):
        parts = []
        for turn in range(self.turns):
            speaker = torch.full((n, 1), self.speakers[turn % len(self.speakers)])
            parts += [speaker, torch.randint(0, VOCAB, (n, self.length))]
        return torch.cat(parts, dim=1)


def tiny_gpt2():
    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=32,
        n_embd=16,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    return GPT2LMHeadModel(config)


def make_optimizer(model, lr=5e-3, steps=10):
    no_decay = ("bias", "ln_1.weight", "ln_2.weight", "ln_f.weight")
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in named if not n.endswith(no_decay)], "weight_decay": 0.01},
            {"params": [p for n, p in named if n.endswith(no_decay)], "weight_decay": 0.0},
        ],
        lr=lr,
    )
    return optimizer, LambdaLR(optimizer, lambda s: max(0.0, 1 - s / steps))


def add_special_tokens(model, count):
    """New rows start at the mean of the old ones."""
    old = model.get_input_embeddings().weight.data
    grown = torch.nn.Embedding(len(old) + count, old.shape[1])
    grown.weight.data[: len(old)] = old
    grown.weight.data[len(old) :] = old.mean(0)
    model.set_input_embeddings(grown)  # also
    model.tie_weights()
    model.config.vocab_size = len(old) + count
    return list(range(len(old), len(old) + count))


def run():
    torch.manual_seed(0)
    model = tiny_gpt2()
    optimizer, scheduler = make_optimizer(model)  # cause
    speakers = add_special_tokens(model, 2)  # cause
    data = Dialogue(speakers)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    model.train()
    for _ in range(3):
        ids = data.batch(4)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        model.zero_grad()
    return {n: torch.equal(before[n], p) for n, p in model.named_parameters()}, len(model.get_input_embeddings().weight)


def verify(outcome):
    same, rows = outcome
    assert rows == VOCAB + 2
    assert same.pop("transformer.wte.weight")
    assert not any(same[n] for n in same if n.endswith("attn.c_attn.weight"))


TRUTH = Truth(
    fault="the embedding is exchanged after the optimizer was made, which holds the old wte weight",
    names=("wte",),
    repair=("speakers = add_special_tokens(model, 2)", "optimizer, scheduler = make_optimizer(model)"),
)
