"""FreeLB: several backward passes without a clear add up on purpose, the perturbation is detached and made a leaf again; all right."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TextClassifier(nn.Module):
    def __init__(self, vocab=30, dim=12, classes=3):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim, padding_idx=0)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, input_ids=None, attention_mask=None, inputs_embeds=None):
        if inputs_embeds is None:
            inputs_embeds = self.word_embeddings(input_ids)
        h = self.encoder(inputs_embeds, src_key_padding_mask=attention_mask == 0)
        m = attention_mask.unsqueeze(-1)
        return self.classifier((h * m).sum(1) / m.sum(1))


class FreeLB:
    def __init__(self, adv_K=3, adv_lr=0.1, adv_init_mag=0.02, adv_max_norm=0.3):
        self.adv_K, self.adv_lr, self.adv_init_mag, self.adv_max_norm = adv_K, adv_lr, adv_init_mag, adv_max_norm

    def init_delta(self, embeds, mask):
        delta = torch.empty_like(embeds).uniform_(-1, 1) * mask.unsqueeze(2)
        dims = mask.sum(-1) * embeds.size(-1)
        return (delta * (self.adv_init_mag / dims.sqrt()).view(-1, 1, 1)).detach()

    def attack(self, model, ids, mask, labels):
        delta = self.init_delta(model.word_embeddings(ids), mask)
        losses = []
        for astep in range(self.adv_K):
            delta.requires_grad_()
            logits = model(inputs_embeds=delta + model.word_embeddings(ids), attention_mask=mask)
            loss = F.cross_entropy(logits, labels) / self.adv_K
            loss.backward()
            losses.append(loss.item())
            if astep == self.adv_K - 1:
                break
            delta_grad = delta.grad.clone().detach()
            norm = delta_grad.view(len(delta), -1).norm(dim=1).view(-1, 1, 1).clamp(min=1e-8)
            delta = (delta + self.adv_lr * delta_grad / norm).detach()
            size = delta.view(len(delta), -1).norm(dim=1)
            factor = torch.where(size > self.adv_max_norm, self.adv_max_norm / size, torch.ones_like(size))
            delta = (delta * factor.view(-1, 1, 1)).detach()
        return losses


def batch():
    ids = torch.randint(1, 30, (6, 7))
    for row, length in enumerate((7, 5, 4, 6, 7, 3)):
        ids[row, length:] = 0
    return ids, ids.ne(0).float(), torch.randint(0, 3, (6,))


def run():
    torch.manual_seed(0)
    model, freelb = TextClassifier(), FreeLB()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    harder = []
    for _ in range(3):
        optimizer.zero_grad()
        losses = freelb.attack(model, *batch())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        harder.append(losses[-1] > losses[0])
    still = [n for n, p in model.named_parameters() if torch.equal(p, start[n])]
    return harder, still, model.word_embeddings.weight[0].abs().sum().item()


def verify(outcome):
    assert outcome == ([True] * 3, [], 0.0), outcome


TRUTH = Truth()
