"""PEFT for clinical notes: LoRA by the peft library, B zero at first, adapter switched off for the reference pass. Healthy."""
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class NoteConfig(dict):
    """peft wants a config with a `get`; nothing in it is used here."""


class NoteModel(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.config = NoteConfig(model_type="notes")
        self.embed = nn.Embedding(vocab, dim)
        self.query = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        h = self.embed(ids)
        scores = self.query(h) @ h.transpose(1, 2)
        mask = torch.ones_like(scores, dtype=torch.bool).triu(1)
        h = h + scores.masked_fill(mask, float("-inf")).softmax(-1) @ self.value(h)
        return self.lm_head(h)


def token_log_probs(logits, ids):
    return logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)


def reference(model, ids):
    with torch.no_grad(), model.disable_adapter():
        return token_log_probs(model(ids), ids)


def run():
    torch.manual_seed(0)
    base = NoteModel()
    config = LoraConfig(r=2, lora_alpha=4, target_modules=["query", "value"], lora_dropout=0.0)
    model = get_peft_model(base, config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-2)
    frozen = {n: p.detach().clone() for n, p in model.named_parameters() if not p.requires_grad}
    lora = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
    ids = (torch.arange(8) + torch.randint(20, (12, 1))) % 30
    losses = []
    for _ in range(4):
        ref = reference(model, ids)
        logp = token_log_probs(model(ids), ids)
        kl = (ref - logp).exp() - 1 - (ref - logp)
        loss = (-logp + 0.05 * kl).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    now = dict(model.named_parameters())
    return [torch.equal(v, now[n]) for n, v in frozen.items()], [torch.equal(v, now[n]) for n, v in lora.items()], losses


def verify(outcome):
    frozen_same, lora_same, losses = outcome
    assert all(frozen_same) and not any(lora_same) and len(lora_same) == 4
    assert losses[-1] < losses[0]


TRUTH = Truth()
