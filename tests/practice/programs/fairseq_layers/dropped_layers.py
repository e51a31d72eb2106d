"""fairseq: LayerDrop draws its probabilities once, when the list is built, and drops the same layers ever after."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class LayerDropModuleList(nn.ModuleList):
    def __init__(self, p, modules=None):
        super().__init__(modules)
        self.p = p
        self.register_buffer("_probs", torch.empty(len(self)).uniform_(), persistent=False)  # also

    def __iter__(self):
        dropout_probs = self._probs  # cause
        for i, m in enumerate(super().__iter__()):
            if not self.training or (dropout_probs[i] > self.p):
                yield m


class TransformerEncoderLayer(nn.Module):
    def __init__(self, dim, heads, ffn):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads)
        self.self_attn_layer_norm, self.final_layer_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, ffn), nn.Linear(ffn, dim)

    def forward(self, x):
        h = self.self_attn_layer_norm(x)
        x = x + self.self_attn(h, h, h, need_weights=False)[0]
        return x + self.fc2(F.relu(self.fc1(self.final_layer_norm(x))))


class TransformerEncoder(nn.Module):
    def __init__(self, vocab=40, dim=16, layers=6, layerdrop=0.3, padding_idx=1):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim, padding_idx)
        self.layers = LayerDropModuleList(layerdrop, [TransformerEncoderLayer(dim, 2, 32) for _ in range(layers)])
        self.output_projection = nn.Linear(dim, vocab)

    def forward(self, src_tokens):
        x = self.embed_tokens(src_tokens).transpose(0, 1)
        for layer in self.layers:
            x = layer(x)
        return self.output_projection(x).transpose(0, 1)


def masked_lm_loss(model, tokens):
    masked = torch.rand(tokens.shape) < 0.3
    masked[:, 0] = True
    logits = model(tokens.masked_fill(masked, 3))
    return F.cross_entropy(logits[masked], tokens[masked])


class Trainer:
    def __init__(self, model, lr=5e-3, clip_norm=1.0):
        self.model, self.clip_norm = model, clip_norm
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.98))
        self.num_updates = 0

    def train_step(self, samples):
        self.model.train()
        self.optimizer.zero_grad()
        loss = masked_lm_loss(self.model, samples)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.optimizer.step()
        self.num_updates += 1
        return loss.item()


def run():
    torch.manual_seed(5)
    model = TransformerEncoder()
    trainer = Trainer(model)
    start = [p.detach().clone() for p in model.parameters()]
    for _ in range(6):
        trainer.train_step(torch.randint(4, 40, (4, 10)))
    now = {n: torch.equal(p, s) for (n, p), s in zip(model.named_parameters(), start)}
    return sorted({n.split(".")[1] for n, same in now.items() if same and n.startswith("layers.")})


def verify(untrained):
    assert untrained, untrained


TRUTH = Truth(
    fault="the draw which layers are dropped is made once: these layers never get a gradient",
    names=("layers",),
    repair=("dropout_probs = torch.empty(len(self)).uniform_()",),
)
