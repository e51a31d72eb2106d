"""LoRA on a tiny BERT with a fresh head of one's own name: get_peft_model freezes the head, as it is not in modules_to_save."""

import torch
import torch.nn as nn
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertModel

from tests.practice.truth import Truth

LABELS = ["negative", "neutral", "positive"]


class BertForReviews(nn.Module):
    """Mean pooling and an own head, instead of BertForSequenceClassification."""

    def __init__(self, config, n_labels):
        super().__init__()
        self.config = config
        self.bert = BertModel(config, add_pooling_layer=False)
        self.review_head = nn.Sequential(nn.LayerNorm(config.hidden_size), nn.Linear(config.hidden_size, n_labels))

    def forward(self, input_ids, attention_mask, labels=None):
        h = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        m = attention_mask.unsqueeze(-1).to(h.dtype)
        logits = self.review_head((h * m).sum(1) / m.sum(1))
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return loss, logits


def get_model():
    config = BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
    )
    model = BertForReviews(config, len(LABELS))
    lora = LoraConfig(
        r=4,
        lora_alpha=8,
        lora_dropout=0.0,
        target_modules=["query", "value"],
        bias="none",  # cause
    )
    return get_peft_model(model, lora)  # also


def collate(n, length=8):
    ids = torch.randint(1, 50, (n, length))
    mask = torch.ones_like(ids)
    mask[::2, length // 2 :] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.randint(0, 3, (n,))}


def run():
    torch.manual_seed(0)
    model = get_model()
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        loss, _ = model(**collate(6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return sorted(n for n, p in model.named_parameters() if not torch.equal(p, before[n]))


def verify(moved):
    assert moved and all("lora_" in n for n in moved), moved


TRUTH = Truth(
    fault="get_peft_model freezes everything but the adapters; the new review_head is not in modules_to_save and stays random",
    names=("review_head",),
    repair=('bias="none",\nmodules_to_save=["review_head"],',),
)
