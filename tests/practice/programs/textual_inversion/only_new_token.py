"""Textual inversion: other rows' gradients are zeroed, but AdamW's weight decay moves the whole table."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

VOCAB, DIM, NEW = 20, 8, 19


class TinyTextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding = nn.Embedding(VOCAB, DIM)
        self.mixer = nn.Linear(DIM, DIM)

    def forward(self, ids):
        return torch.tanh(self.mixer(self.token_embedding(ids))).mean(1)


class TinyDenoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4 + DIM, 16), nn.SiLU(), nn.Linear(16, 4))

    def forward(self, noisy, cond):
        return self.net(torch.cat([noisy, cond], 1))


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)


def prompts(n):
    """Any three words of the old vocabulary, then the new token."""
    ids = torch.randint(0, 6, (n, 4))
    ids[:, -1] = NEW
    return ids


def run():
    torch.manual_seed(0)
    text, unet = TinyTextEncoder(), TinyDenoiser()
    freeze(unet)
    freeze(text.mixer)
    table = text.token_embedding.weight
    old = table.detach().clone()
    keep = torch.arange(VOCAB) != NEW
    optimizer = torch.optim.AdamW([table], lr=5e-2, weight_decay=1e-2)  # also
    images = torch.randn(16, 4)
    for _ in range(4):
        noise = torch.randn_like(images)
        predicted = unet(images + noise, text(prompts(16)))
        loss = F.mse_loss(predicted, noise)
        optimizer.zero_grad()
        loss.backward()
        table.grad[keep] = 0
        optimizer.step()  # cause
    return (table.detach() - old)[keep].abs().max().item(), (table.detach() - old)[NEW].abs().max().item()


def verify(outcome):
    others, new = outcome
    assert others > 0
    assert new > 0


TRUTH = Truth(
    fault="decoupled weight decay shrinks the rows whose gradient was set to zero: words that should stay change",
    names=("token_embedding", "weight"),
    repair=("optimizer.step()\ntable.data[keep] = old[keep]",),
)
