"""A head on a frozen BERT: `param.require_grad = False` makes an attribute that nobody reads."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

from tests.practice.truth import Truth


def build(num_labels=2):
    config = BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
        num_labels=num_labels,
    )
    model = BertForSequenceClassification(config)
    # train the classification head only
    for param in model.bert.parameters():
        param.require_grad = False  # cause
    return model


def evaluate(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for ids, mask, labels in loader:
            pred = model(input_ids=ids, attention_mask=mask).logits.argmax(-1)
            hits += (pred == labels).sum().item()
            total += len(labels)
    return hits / total


def train(model, loader, epochs=2, lr=5e-3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    steps = epochs * len(loader)
    scheduler = get_linear_schedule_with_warmup(optimizer, steps // 4, steps)
    for epoch in range(epochs):
        model.train()
        for ids, mask, labels in loader:
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()  # symptom
            scheduler.step()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {evaluate(model, loader):.2f}")


def run():
    torch.manual_seed(0)
    ids = torch.randint(3, 50, (24, 8))
    mask = (torch.arange(8)[None] < torch.randint(4, 9, (24, 1))).long()
    labels = (ids[:, 0] > 25).long()
    model = build()
    before = {n: p.detach().clone() for n, p in model.bert.named_parameters()}
    train(model, DataLoader(TensorDataset(ids, mask, labels), batch_size=8, shuffle=True))
    return model, before


def verify(out):
    model, before = out
    assert any(not torch.equal(p, before[n]) for n, p in model.bert.named_parameters())


TRUTH = Truth(
    fault="a misspelt requires_grad freezes nothing",
    names=("require_grad",),
    repair=("param.requires_grad = False",),
)
