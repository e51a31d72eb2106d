"""PEFT, an adapter per language: the optimizer is of the first adapter's weights, and stays so for the second."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Seq2Vec(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.query, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.ffn = nn.Sequential(nn.Linear(dim, dim), nn.GELU())
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.emb(ids)
        att = torch.softmax(self.query(x) @ x.transpose(1, 2) / 4, -1)
        return self.head(x + self.ffn(att @ self.value(x)))


def batches(seed, n=2):
    gen = torch.Generator().manual_seed(seed)
    for _ in range(n):
        ids = torch.randint(0, 24, (4, 7), generator=gen)
        mask = torch.rand(4, 7, generator=gen) < 0.3
        mask[:, 0] = True
        yield torch.where(mask, 0, ids), torch.where(mask, ids, -100)


def train(model, opt, data, name):
    model.train()
    for ids, labels in data:
        logits = model(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        opt.step()
    print(f"{name}: mlm loss {loss.item():.4f}")


def run():
    torch.manual_seed(0)
    config = LoraConfig(r=2, target_modules=["query", "value"])
    model = get_peft_model(Seq2Vec(), config, adapter_name="german")
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)  # also
    train(model, opt, batches(1), "german")
    model.add_adapter("french", LoraConfig(r=2, target_modules=["query", "value"]))
    model.set_adapter("french")  # also
    train(model, opt, batches(2), "french")  # cause
    return model


def verify(out):
    french = {n: p for n, p in out.named_parameters() if "lora_B.french" in n}
    assert french and not any(p.any() for p in french.values())


TRUTH = Truth(
    fault="the second adapter's weights are in no optimizer",
    names=("french",),
    repair=(
        "opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)\n"
        "train(model, opt, batches(2), 'french')",
    ),
)
