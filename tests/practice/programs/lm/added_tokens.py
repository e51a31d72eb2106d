"""New special tokens: the embeddings are grown after the optimizer was made, which goes on with the old matrix."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, get_constant_schedule_with_warmup

from tests.practice.truth import Truth

SPECIAL = ["<|user|>", "<|assistant|>", "<|end|>"]


class Tokenizer:
    """Words to ids; added tokens come at the end."""

    def __init__(self, words):
        self.vocab = {w: i for i, w in enumerate(words)}

    def add_special_tokens(self, tokens):
        for token in tokens:
            self.vocab.setdefault(token, len(self.vocab))

    def __call__(self, text):
        return torch.tensor([[self.vocab[w] for w in text.split()]])

    def __len__(self):
        return len(self.vocab)


def make_optimizer(model, lr=1e-2, wd=0.01):
    no_decay = ("bias", "ln_")
    groups = [
        {"params": [p for n, p in model.named_parameters() if not any(k in n for k in no_decay)], "weight_decay": wd},
        {"params": [p for n, p in model.named_parameters() if any(k in n for k in no_decay)], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr)


def grow_embeddings(model, size):
    old = model.get_input_embeddings().weight.detach()
    if len(old) == size:
        return
    new = nn.Embedding(size, old.shape[1])
    with torch.no_grad():
        new.weight[: len(old)] = old
        new.weight[len(old) :] = old.mean(0)
    model.set_input_embeddings(new)
    model.lm_head = nn.Linear(old.shape[1], size, bias=False)
    model.lm_head.weight = new.weight
    model.config.vocab_size = size


def chats():
    yield "<|user|> hello there <|end|> <|assistant|> hi <|end|>"
    yield "<|user|> how are you <|end|> <|assistant|> fine you <|end|>"


def run():
    torch.manual_seed(0)
    tok = Tokenizer("hello there hi how are you fine".split())
    config = GPT2Config(
        vocab_size=len(tok), n_positions=32, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(config)
    opt = make_optimizer(model)  # cause
    sched = get_constant_schedule_with_warmup(opt, num_warmup_steps=1)
    tok.add_special_tokens(SPECIAL)
    grow_embeddings(model, len(tok))  # also
    before = model.transformer.wte.weight.detach().clone()
    for epoch in range(2):
        for text in chats():
            ids = tok(text)
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    return model.transformer.wte.weight, before


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the optimizer holds the embedding from before it grew",
    names=("wte",),
    repair=("tok.add_special_tokens(SPECIAL)\ngrow_embeddings(model, len(tok))\nopt = make_optimizer(model)",),
)
