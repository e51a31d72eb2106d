"""transformers: a new table of input embeddings is set, and the head that was tied to the old one is left with it."""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth

GENERAL = ["<pad>", "the", "of", "cell", "bank", "rate", "test", "a", "in", "dose"]
CLINICAL = ["<pad>", "the", "of", "cell", "dose", "stent", "sepsis", "in", "test", "rate"]


def tiny_gpt2(vocab):
    sizes = dict(n_positions=12, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    config = GPT2Config(vocab_size=vocab, tie_word_embeddings=True, **sizes)
    return GPT2LMHeadModel(config)


def transplanted(old, source, target):
    """Keep the vectors of the words that both vocabularies have; the others start at the mean."""
    table = nn.Embedding(len(target), old.embedding_dim)
    with torch.no_grad():
        table.weight.copy_(old.weight.mean(0).expand_as(table.weight))
        for i, word in enumerate(target):
            if word in source:
                table.weight[i] = old.weight[source.index(word)]
    return table


def adapt(model):
    table = transplanted(model.get_input_embeddings(), GENERAL, CLINICAL)
    model.set_input_embeddings(table)  # cause
    model.config.vocab_size = len(CLINICAL)
    return model


def train(model, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(steps):
        ids = torch.randint(1, len(CLINICAL), (4, 10))
        logits = model(input_ids=ids).logits
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = adapt(tiny_gpt2(len(GENERAL)))
    train(model, 3)
    return model.transformer.wte.weight.detach(), model.lm_head.weight.detach()


def verify(outcome):
    wte, head = outcome
    assert wte.data_ptr() != head.data_ptr() and not torch.allclose(wte, head)


TRUTH = Truth(
    fault="lm_head keeps the old table: input and output embeddings are no longer tied and learn apart",
    names=("lm_head",),
    repair=("model.set_input_embeddings(table)\nmodel.tie_weights()",),
)
