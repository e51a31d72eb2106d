"""DETR-like: _get_clones forgets deepcopy, so all decoder layers are one layer, trained by the sum of their gradients."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def _get_clones(module, n):
    return nn.ModuleList([module for i in range(n)])  # cause


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(dim) for _ in range(3))

    def forward(self, tgt, memory, query_pos):
        q = tgt + query_pos
        tgt = self.norm1(tgt + self.self_attn(q, q, tgt, need_weights=False)[0])
        tgt = self.norm2(tgt + self.cross_attn(tgt + query_pos, memory, memory, need_weights=False)[0])
        return self.norm3(tgt + self.linear2(self.linear1(tgt).relu()))


class TransformerDecoder(nn.Module):
    def __init__(self, layer, num_layers, norm):
        super().__init__()
        self.layers, self.norm = _get_clones(layer, num_layers), norm

    def forward(self, tgt, memory, query_pos):
        intermediate = []
        for layer in self.layers:
            tgt = layer(tgt, memory, query_pos)
            intermediate.append(self.norm(tgt))
        return torch.stack(intermediate)


class DETR(nn.Module):
    def __init__(self, dim=16, queries=4, classes=3, layers=3):
        super().__init__()
        self.input_proj = nn.Linear(6, dim)
        self.decoder = TransformerDecoder(DecoderLayer(dim), layers, nn.LayerNorm(dim))
        self.query_embed = nn.Embedding(queries, dim)
        self.class_embed, self.bbox_embed = nn.Linear(dim, classes + 1), nn.Linear(dim, 4)

    def forward(self, feats):
        memory = self.input_proj(feats)
        query_pos = self.query_embed.weight.expand(len(feats), -1, -1)
        hs = self.decoder(torch.zeros_like(query_pos), memory, query_pos)
        return self.class_embed(hs), self.bbox_embed(hs).sigmoid()


def set_criterion(logits, boxes, labels, targets):
    loss = 0.0
    for out, box in zip(logits, boxes):  # auxiliary losses: one for each layer
        loss = loss + F.cross_entropy(out.flatten(0, 1), labels.flatten()) + 5 * F.l1_loss(box, targets)
    return loss


def run():
    torch.manual_seed(0)
    model = DETR()
    best = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    for _ in range(2):
        loss = set_criterion(*model(torch.randn(2, 9, 6)), torch.randint(0, 4, (2, 4)), torch.rand(2, 4, 4))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    best.load_state_dict(model.state_dict())
    names = {n for n, _ in model.named_parameters()}
    return model.decoder.layers[0] is model.decoder.layers[2], names, best


def verify(outcome):
    one, names, _ = outcome
    assert one
    assert "decoder.layers.0.linear1.weight" in names and "decoder.layers.1.linear1.weight" not in names


TRUTH = Truth(
    fault="the three decoder layers are the same object: one set of weights gets the gradients of all depths",
    names=("decoder.layers",),
    repair=("return nn.ModuleList([copy.deepcopy(module) for i in range(n)])",),
)
