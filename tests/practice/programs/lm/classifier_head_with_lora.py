"""LoRA for classification without a task type: the new score head is frozen at its random values."""

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForSequenceClassification, get_linear_schedule_with_warmup

from tests.practice.truth import Truth


def tiny_llama(labels):
    config = LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=16,
        num_labels=labels,
        pad_token_id=0,
    )
    return LlamaForSequenceClassification(config)


def collate(rows):
    width = max(len(ids) for ids, _ in rows)
    input_ids = torch.zeros(len(rows), width, dtype=torch.long)
    for i, (ids, _) in enumerate(rows):
        input_ids[i, : len(ids)] = ids
    return {
        "input_ids": input_ids,
        "attention_mask": (input_ids > 0).long(),
        "labels": torch.tensor([y for _, y in rows]),
    }


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = [(model(**b).logits.argmax(-1) == b["labels"]).float().mean().item() for b in loader]
    model.train()
    return sum(hits) / len(hits)


def run():
    torch.manual_seed(0)
    rows = [(torch.randint(1, 32, (int(torch.randint(4, 8, (1,))),)), i % 3) for i in range(12)]
    loader = DataLoader(rows, batch_size=4, shuffle=True, collate_fn=collate)
    base = tiny_llama(labels=3)
    config = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["q_proj", "v_proj"])  # cause
    model = get_peft_model(base, config)  # also
    model.print_trainable_parameters()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    sched = get_linear_schedule_with_warmup(opt, 1, 6)
    for epoch in range(2):
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            opt.step()
            sched.step()
            opt.zero_grad()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {accuracy(model, loader):.2f}")
    return model


def verify(out):
    assert not any(p.requires_grad for n, p in out.named_parameters() if "score" in n)


TRUTH = Truth(
    fault="the new classification head is frozen",
    names=("score",),
    minor=True,  # the random base model is frozen on purpose, in the same call
    repair=(
        "config = LoraConfig(\n    task_type='SEQ_CLS', r=4, lora_alpha=8, lora_dropout=0.05, target_modules=['q_proj', 'v_proj']\n)",
    ),
)
