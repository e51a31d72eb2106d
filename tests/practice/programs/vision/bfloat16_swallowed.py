"""Mixed precision: the whole model was cast to bfloat16, in which the steps of fine-tuning are smaller than the weights' resolution."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ConvNeXtBlock(nn.Module):
    def __init__(self, dim, layer_scale_init_value=1.0):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm = nn.LayerNorm(dim)
        self.pwconv1, self.pwconv2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.gamma = nn.Parameter(layer_scale_init_value * torch.ones(dim))

    def forward(self, x):
        h = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        h = self.gamma * self.pwconv2(F.gelu(self.pwconv1(h)))
        return x + h.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, dim=8, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, 4)
        self.blocks = nn.Sequential(ConvNeXtBlock(dim), ConvNeXtBlock(dim))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.stem(x)).mean((2, 3))))


def build_model(pretrained_state=None):
    model = ConvNeXt()
    if pretrained_state is not None:
        model.load_state_dict(pretrained_state)
    return model.to(torch.bfloat16)  # cause


def get_parameter_groups(model, weight_decay=1e-8):
    no_decay = {n for n, p in model.named_parameters() if p.ndim == 1}
    named = list(model.named_parameters())
    return [
        {"params": [p for n, p in named if n in no_decay], "weight_decay": 0.0},
        {"params": [p for n, p in named if n not in no_decay], "weight_decay": weight_decay},
    ]


def pretrain(data):
    model = ConvNeXt()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in data:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model.state_dict()


def finetune(model, data, lr):
    optimizer = torch.optim.AdamW(get_parameter_groups(model), lr=lr, betas=(0.9, 0.999))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.1, 1 - s / 10))
    dtype = next(model.parameters()).dtype
    model.train()
    for x, y in data:
        output = model(x.to(dtype))
        loss = F.cross_entropy(output.float(), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    data = [(torch.randn(6, 3, 16, 16), torch.randint(0, 4, (6,))) for _ in range(3)]
    state = pretrain(data)
    model = build_model(state)
    names = ("blocks.0.gamma", "blocks.1.gamma", "blocks.0.norm.weight", "norm.weight")
    before = {n: model.state_dict()[n].clone() for n in names}
    finetune(model, data, lr=2e-5)
    return before, {n: model.state_dict()[n] for n in names}


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(before[n], after[n]) for n in before)


TRUTH = Truth(
    values=True,
    fault="steps of 2e-5 are lost in bfloat16 weights near 1: gamma and the norms never move",
    names=("gamma", "norm.weight"),
    repair=("return model",),
)
