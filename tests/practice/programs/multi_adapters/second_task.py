"""peft: a second adapter is added but not made active, and its training goes into the first one."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F
from transformers import RobertaConfig, RobertaModel

from tests.practice.truth import Truth

TASKS = {"default": 2, "topics": 4}


def lora(r):
    return LoraConfig(
        r=r, lora_alpha=2 * r, target_modules=["query", "value"], lora_dropout=0.0, init_lora_weights=True
    )


def base():
    config = RobertaConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=20,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=1,
    )
    return RobertaModel(config, add_pooling_layer=False)


class MultiTaskModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = get_peft_model(base(), lora(2))
        self.heads = nn.ModuleDict({"default": nn.Linear(16, TASKS["default"])})

    def add_task(self, name, classes, r=2):
        self.encoder.add_adapter(name, lora(r))
        self.heads[name] = nn.Linear(16, classes)

    def forward(self, ids, task):
        hidden = self.encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        return self.heads[task](hidden.mean(1))


def train_task(model, task, steps=3):
    for param in model.heads.parameters():
        param.requires_grad_(False)
    model.heads[task].requires_grad_(True)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3, weight_decay=0.0)
    model.train()
    for _ in range(steps):
        ids, labels = torch.randint(2, 40, (4, 8)), torch.randint(0, TASKS[task], (4,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids, task), labels)
        loss.backward()
        optimizer.step()


def snapshot(model, adapter):
    return {n: p.detach().clone() for n, p in model.named_parameters() if f".{adapter}." in n and "lora_" in n}


def moved(before, after):
    return any(not torch.equal(before[n], after[n]) for n in before)


def run():
    torch.manual_seed(0)
    model = MultiTaskModel()
    train_task(model, "default")
    model.add_task("topics", TASKS["topics"])  # cause
    first, second = snapshot(model, "default"), snapshot(model, "topics")
    train_task(model, "topics")
    return moved(first, snapshot(model, "default")), moved(second, snapshot(model, "topics"))


def verify(outcome):
    assert outcome == (True, False), outcome


TRUTH = Truth(
    fault="add_adapter() does not activate the new adapter: without set_adapter() the old task's adapter is trained",
    names=("topics",),
    repair=('model.add_task("topics", TASKS["topics"])\nmodel.encoder.set_adapter("topics")',),
)
