"""peft: an adapter that is loaded to be trained on is loaded for inference (is_trainable is False by default)."""

import os
import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from torch.nn import functional as F
from transformers import BertConfig, BertModel

from tests.practice.truth import Truth


def tiny_bert():
    torch.manual_seed(1)  # "bert-base-uncased"
    config = BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertModel(config, add_pooling_layer=False)


class IntentModel(nn.Module):
    """An adapted encoder below a plain head."""

    def __init__(self, encoder, n_intents):
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(16, n_intents)

    def forward(self, input_ids, attention_mask):
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.classifier(hidden[:, 0])


def batches(n, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        ids = torch.randint(1, 40, (4, 8), generator=g)
        yield ids, torch.ones_like(ids), torch.randint(0, 3, (4,), generator=g)


def train(model, steps, seed):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=5e-3)
    model.train()
    for ids, mask, labels in batches(steps, seed):
        loss = F.cross_entropy(model(ids, mask), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def first_stage(path):
    peft_config = LoraConfig(r=2, lora_alpha=4, target_modules=["query", "value"], lora_dropout=0.0)
    model = IntentModel(get_peft_model(tiny_bert(), peft_config), n_intents=3)
    train(model, steps=2, seed=0)
    model.encoder.save_pretrained(os.path.join(path, "adapter"))
    torch.save(model.classifier.state_dict(), os.path.join(path, "head.pt"))


def second_stage(path):
    encoder = PeftModel.from_pretrained(tiny_bert(), os.path.join(path, "adapter"))  # cause
    model = IntentModel(encoder, n_intents=3)
    model.classifier.load_state_dict(torch.load(os.path.join(path, "head.pt"), weights_only=True))
    start = {n: p.detach().clone() for n, p in model.named_parameters() if "lora_" in n}
    train(model, steps=3, seed=1)
    now = dict(model.named_parameters())
    return [not torch.equal(start[n], now[n]) for n in start]


def run():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as path:
        first_stage(path)
        return second_stage(path)


def verify(outcome):
    assert len(outcome) == 8 and not any(outcome), outcome


TRUTH = Truth(
    fault="PeftModel.from_pretrained() freezes the adapter unless is_trainable=True: only the head goes on learning",
    names=("lora",),
    repair=('encoder = PeftModel.from_pretrained(tiny_bert(), os.path.join(path, "adapter"), is_trainable=True)',),
)
