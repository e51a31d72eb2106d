"""ESPnet-like: freeze_param from the config is matched anywhere in the name: 'enc' also freezes the decoder's enc_attn."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

CONFIG = {"freeze_param": ["enc"], "optim": "adam", "optim_conf": {"lr": 2e-3}, "accum_grad": 1, "grad_clip": 5.0}


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear_q, self.linear_k, self.linear_v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, q, kv, causal=False):
        return F.scaled_dot_product_attention(self.linear_q(q), self.linear_k(kv), self.linear_v(kv), is_causal=causal)


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.self_attn, self.enc_attn = Attention(dim), Attention(dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, y, memory):
        y = y + self.self_attn(self.norm1(y), self.norm1(y), causal=True)
        return y + self.enc_attn(self.norm2(y), memory)


class ESPnetASRModel(nn.Module):
    def __init__(self, dim=16, vocab=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.embed = nn.Embedding(vocab, dim)
        self.decoder = nn.ModuleList([DecoderLayer(dim), DecoderLayer(dim)])
        self.output_layer = nn.Linear(dim, vocab)

    def forward(self, speech, text):
        memory = self.encoder(speech)
        y = self.embed(text[:, :-1])
        for layer in self.decoder:
            y = layer(y, memory)
        return F.cross_entropy(self.output_layer(y).flatten(0, 1), text[:, 1:].flatten())


def freeze(model, patterns):
    for t in patterns:
        for k, p in model.named_parameters():
            if t in k:  # cause
                p.requires_grad = False


class Trainer:
    def __init__(self, model, config):
        freeze(model, config["freeze_param"])
        self.model, self.config = model, config
        self.optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], **config["optim_conf"])

    def train_one_epoch(self, batches):
        self.model.train()
        for speech, text in batches:
            self.optimizer.zero_grad()
            self.model(speech, text).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config["grad_clip"])
            self.optimizer.step()


def run():
    torch.manual_seed(0)
    model = ESPnetASRModel()
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    Trainer(model, CONFIG).train_one_epoch([(torch.randn(4, 10, 8), torch.randint(0, 12, (4, 6))) for _ in range(3)])
    return {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["encoder.0.weight"] == 0.0
    assert outcome["decoder.0.enc_attn.linear_v.weight"] == 0.0
    assert outcome["decoder.0.self_attn.linear_v.weight"] > 0.0


TRUTH = Truth(
    fault="the pattern 'enc' is sought anywhere in the name and freezes decoder.*.enc_attn with the encoder",
    names=("enc_attn",),
    repair=('if k.startswith(t + "oder."):',),
)
