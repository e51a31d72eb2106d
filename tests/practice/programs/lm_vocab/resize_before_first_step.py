"""transformers: the vocabulary is enlarged after the optimizer is made; the parameter stays the same object, so that is right."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

from tests.practice.truth import Truth

SPECIAL_TOKENS = ["<|user|>", "<|bot|>", "<|pad|>"]


class ToyTokenizer:
    def __init__(self, words):
        self.vocab = {w: i for i, w in enumerate(words)}

    def __len__(self):
        return len(self.vocab)

    def add_special_tokens(self, tokens):
        for token in tokens:
            self.vocab.setdefault(token, len(self.vocab))
        return len(tokens)

    def encode(self, text):
        return [self.vocab[w] for w in text.split()]


def load_model(n):
    config = GPT2Config(
        vocab_size=n,
        n_positions=16,
        n_embd=16,
        n_layer=2,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


def collate(tokenizer, texts):
    rows = [tokenizer.encode(t) for t in texts]
    width = max(map(len, rows))
    pad = tokenizer.vocab["<|pad|>"]
    ids = torch.tensor([r + [pad] * (width - len(r)) for r in rows])
    mask = (ids != pad).long()
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def make_optimizer(model, total):
    no_decay = ("bias", "ln_")
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if not any(k in n for k in no_decay)], "weight_decay": 0.01},
        {"params": [p for n, p in named if any(k in n for k in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    return optimizer, get_linear_schedule_with_warmup(optimizer, 1, total)


def fit(model, tokenizer, texts, epochs=4):
    optimizer, scheduler = make_optimizer(model, epochs)
    if tokenizer.add_special_tokens(SPECIAL_TOKENS):
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    start = model.transformer.wte.weight.detach().clone()
    tied = model.lm_head.weight is model.transformer.wte.weight
    model.train()
    for _ in range(epochs):
        loss = model(**collate(tokenizer, texts)).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    moved = (model.transformer.wte.weight.detach() != start).any(1)
    return tied, len(tokenizer), moved


def run():
    torch.manual_seed(0)
    tokenizer = ToyTokenizer("hello how are you fine thanks and good bye now".split())
    model = load_model(len(tokenizer))
    texts = ["<|user|> hello how are you <|bot|> fine thanks", "<|user|> good bye <|bot|> bye"]
    return fit(model, tokenizer, texts)


def verify(outcome):
    tied, n, moved = outcome
    assert tied and len(moved) == n and bool(moved.all()), outcome


TRUTH = Truth()
