"""Gradual unfreezing: the optimizer was made from the trainable parameters of the first phase, so what is unfrozen later does not train."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class CFG:
    epochs = 4
    unfreeze_at = 2
    lr = 1e-2
    n_tokens = 40
    dim = 12


class TextModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = nn.ModuleDict(
            {
                "emb": nn.EmbeddingBag(cfg.n_tokens, cfg.dim, mode="mean"),
                "enc": nn.Sequential(nn.Linear(cfg.dim, cfg.dim), nn.Tanh()),
            }
        )
        self.head = nn.Linear(cfg.dim, 1)

    def forward(self, ids):
        h = self.backbone["emb"](ids)
        return self.head(self.backbone["enc"](h)).squeeze(1)

    def set_backbone_trainable(self, flag):
        for p in self.backbone.parameters():
            p.requires_grad = flag


def train_epoch(model, optimizer, ids, target):
    loss_fn = nn.BCEWithLogitsLoss()
    total = 0.0
    for i in range(0, len(ids), 8):
        loss = loss_fn(model(ids[i : i + 8]), target[i : i + 8])
        loss.backward()
        optimizer.step()
        model.zero_grad()
        total += loss.item()
    return total


def run():
    torch.manual_seed(CFG.epochs)
    ids = torch.randint(0, CFG.n_tokens, (16, 6))
    target = (ids < 10).any(1).float()
    model = TextModel(CFG)
    model.set_backbone_trainable(False)
    optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=CFG.lr)  # cause
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for epoch in range(CFG.epochs):
        if epoch == CFG.unfreeze_at:
            print_msg = f"epoch {epoch}: unfreezing the backbone"
            model.set_backbone_trainable(True)  # also
        train_epoch(model, optimizer, ids, target)
    return {n: torch.equal(p, before[n]) for n, p in model.named_parameters()}, print_msg


def verify(outcome):
    same, _ = outcome
    assert same["backbone.emb.weight"] and same["backbone.enc.0.weight"]
    assert not same["head.weight"]


TRUTH = Truth(
    fault="the backbone was filtered out of the optimizer while frozen; unfreezing it later does not add it",
    names=("backbone",),
    repair=("optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr)",),
)
