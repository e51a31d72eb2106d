"""Only the head shall be tuned, so the body is frozen; the head's weight is the frozen embedding's."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


def build():
    config = GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=2, n_head=2, tie_word_embeddings=True)
    model = GPT2LMHeadModel(config)
    for p in model.transformer.parameters():
        p.requires_grad = False  # cause
    for p in model.transformer.ln_f.parameters():
        p.requires_grad = True
    return model


def groups(model, lr):
    return [
        {"params": list(model.transformer.ln_f.parameters()), "lr": lr, "weight_decay": 0.0},
        {"params": list(model.lm_head.parameters()), "lr": lr / 10},  # also
    ]


def run():
    torch.manual_seed(0)
    model = build()
    opt = torch.optim.AdamW(groups(model, 1e-2))
    before = model.lm_head.weight.detach().clone()
    for _ in range(3):
        ids = torch.randint(20, (3, 8))
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return before, model.lm_head.weight.detach()


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the head is tied to the embedding, so it was frozen with the body",
    names=("lm_head",),
    repair=("p.requires_grad = p is model.lm_head.weight",),
)
