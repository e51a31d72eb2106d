"""Adaptation: the prefix is looked up once and kept, with retain_graph=True so that the steps go through."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class PrefixConfig:
    num_virtual_tokens: int = 4
    num_layers: int = 2
    token_dim: int = 12
    num_heads: int = 2
    vocab: int = 18
    labels: int = 3
    lr: float = 5e-2


class PrefixEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embedding = nn.Embedding(cfg.num_virtual_tokens, cfg.num_layers * 2 * cfg.token_dim)

    def forward(self, prefix):
        return self.embedding(prefix)


class BertSelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.h = cfg.num_heads
        self.query, self.key, self.value, self.dense = (nn.Linear(cfg.token_dim, cfg.token_dim) for _ in range(4))

    def split(self, x):
        return x.view(*x.shape[:2], self.h, -1).transpose(1, 2)

    def forward(self, x, past):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.dense(out.transpose(1, 2).reshape(x.shape))


class BertModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embeddings = nn.Embedding(cfg.vocab, cfg.token_dim)
        self.layers = nn.ModuleList(BertSelfAttention(cfg) for _ in range(cfg.num_layers))
        self.norms = nn.ModuleList(nn.LayerNorm(cfg.token_dim) for _ in range(cfg.num_layers))

    def forward(self, ids, past_key_values):
        x = self.embeddings(ids)
        for layer, norm, past in zip(self.layers, self.norms, past_key_values):
            x = norm(x + layer(x, past))
        return x.mean(dim=1)


class BertPrefixForSequenceClassification(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.bert = BertModel(cfg).requires_grad_(False)
        self.classifier = nn.Linear(cfg.token_dim, cfg.labels)
        self.prefix_tokens = torch.arange(cfg.num_virtual_tokens)
        self.prefix_encoder = PrefixEncoder(cfg)
        self.prompt = None

    def get_prompt(self, batch_size):
        c = self.cfg
        if self.prompt is None:  # cause
            self.prompt = self.prefix_encoder(self.prefix_tokens)  # also
        past = self.prompt.expand(batch_size, -1, -1)
        past = past.view(batch_size, c.num_virtual_tokens, c.num_layers * 2, c.num_heads, -1)
        return past.permute(2, 0, 3, 1, 4).split(2)

    def forward(self, ids):
        pooled = self.bert(ids, self.get_prompt(len(ids)))
        return self.classifier(pooled)


class Trainer:
    def __init__(self, cfg, model):
        self.model = model
        params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(params, lr=cfg.lr, weight_decay=0.0)
        self.used = []

    def training_step(self, ids, labels):
        self.optimizer.zero_grad()
        past = self.model.get_prompt(1)
        self.used.append(past[0][0].detach().clone())
        loss = F.cross_entropy(self.model(ids), labels)
        loss.backward(retain_graph=True)  # also
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    cfg = PrefixConfig()
    model = BertPrefixForSequenceClassification(cfg)
    trainer = Trainer(cfg, model)
    before = model.prefix_encoder.embedding.weight.detach().clone()
    for _ in range(3):
        ids = torch.randint(cfg.vocab, (8, 5))
        trainer.training_step(ids, ids.sum(1) % cfg.labels)
    return before, model.prefix_encoder.embedding.weight.detach(), trainer.used


def verify(outcome):
    before, after, used = outcome
    assert not torch.equal(before, after)
    assert torch.equal(used[0], used[1]) and torch.equal(used[0], used[2])


TRUTH = Truth(
    fault="the looked-up prefix is kept over the steps: the model always sees the initial one while its weights move",
    names=("prefix_encoder",),
    repair=("if True:",),
)
