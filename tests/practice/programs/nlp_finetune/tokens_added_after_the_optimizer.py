"""Special tokens are added when training starts; the table that the optimizer holds is no longer the model's."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


class Finetuner:
    def __init__(self, lr=1e-2):
        config = GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=1, n_head=2)
        self.model = GPT2LMHeadModel(config)
        decay, plain = [], []
        for name, p in self.model.named_parameters():
            (plain if p.ndim < 2 else decay).append(p)
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0}], lr
        )
        self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, total_iters=3)

    def add_tokens(self, count):
        old = self.model.get_input_embeddings()
        new = nn.Embedding(old.num_embeddings + count, old.embedding_dim)
        with torch.no_grad():
            new.weight[: old.num_embeddings] = old.weight
            new.weight[old.num_embeddings :] = old.weight.mean(0)
        self.model.set_input_embeddings(new)  # cause
        self.model.config.vocab_size = len(new.weight)
        self.model.tie_weights()

    def step(self, ids):
        logits = self.model(input_ids=ids).logits[:, :-1].flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.model.zero_grad()
        return loss.item()


def run():
    torch.manual_seed(0)
    tuner = Finetuner()
    tuner.add_tokens(2)
    table = tuner.model.transformer.wte.weight
    before = table.detach().clone()
    for _ in range(3):
        tuner.step(torch.randint(22, (3, 8)))
    return before, table.detach()


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the optimizer holds the old table",
    names=("wte",),
    repair=(
        "self.model.set_input_embeddings(new)\n"
        "self.model.tie_weights()\n"
        "self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)\n"
        "self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, total_iters=3)",
    ),
)
