"""Masked modelling: the expanded mask token of `__init__` is a view, so it follows the parameter and teaches it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class MaskedModel(nn.Module):
    def __init__(self, patch=10, dim=12, patches=8):
        super().__init__()
        self.embed = nn.Linear(patch, dim)
        self.mask_token = nn.Parameter(torch.randn(dim) * 0.02)
        self.all_masked = self.mask_token.expand(patches, dim)
        self.position = nn.Parameter(torch.zeros(1, patches, dim), requires_grad=False)
        self.position.data.copy_(torch.sin(torch.arange(patches * dim).view(1, patches, dim) / 7.0))
        layer = nn.TransformerEncoderLayer(dim, 3, 24, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, patch)

    def forward(self, patches, mask):
        tokens = torch.where(mask.unsqueeze(-1), self.all_masked, self.embed(patches))
        return self.head(self.encoder(tokens + self.position))


def run(steps=4):
    torch.manual_seed(0)
    model = MaskedModel()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=steps)
    start = model.mask_token.detach().clone()
    for _ in range(steps):
        patches, mask = torch.randn(4, 8, 10), torch.rand(4, 8) < 0.6
        loss = (model(patches, mask) - patches).pow(2).mean(-1)[mask].mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
    return model, start


TRUTH = Truth()


def verify(out):
    model, start = out
    assert not torch.equal(model.mask_token, start)
    assert torch.equal(model.all_masked[0], model.mask_token)
