"""Weight decay groups by the type of the module: the class token and the positions are in neither."""

import torch
from torch import nn

from tests.practice.truth import Truth


class TinyViT(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.patch = nn.Linear(12, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.randn(1, 5, dim) * 0.02)
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        x = self.patch(x)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.block(x))[:, 0])


def groups(model):
    decay, rest = [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if isinstance(module, (nn.Linear, nn.MultiheadAttention)):
                (rest if name.endswith("bias") else decay).append(p)
            elif isinstance(module, nn.LayerNorm):  # cause
                rest.append(p)
    return [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}]


def run():
    torch.manual_seed(0)
    model = TinyViT()
    start = model.positions.detach().clone()
    opt = torch.optim.AdamW(groups(model), lr=1e-3)  # also
    for _ in range(3):
        x, y = torch.randn(8, 4, 12), torch.randint(3, (8,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    return model, start


def verify(out):
    model, start = out
    assert torch.equal(model.positions, start) and not model.cls_token.any()


TRUTH = Truth(fault="parameters of the model are in no group", names=("cls_token", "positions"), repair=("else:",))
