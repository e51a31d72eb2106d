"""Fine-tuning a detector: train() at each epoch's start sets the frozen backbone's batch norms free."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Backbone(nn.Sequential):
    def __init__(self, ch=8):
        super().__init__(
            nn.Conv2d(3, ch, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(ch),
            nn.ReLU(),
            nn.Conv2d(ch, ch, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(ch),
            nn.ReLU(),
        )


class CenterNet(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.backbone = Backbone()
        self.heatmap = nn.Conv2d(8, classes, 1)
        self.size = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        f = self.backbone(x)
        return self.heatmap(f), F.softplus(self.size(f))


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False
    module.eval()


def train_epoch(model, opt, data):
    model.train()  # cause
    for img, heat, size in data:
        logits, pred_size = model(img)
        loss = F.binary_cross_entropy_with_logits(logits, heat) + 0.1 * F.l1_loss(pred_size, size)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def validate(model, data):
    model.eval()
    return sum(F.binary_cross_entropy_with_logits(model(img)[0], heat).item() for img, heat, _ in data) / len(data)


def run():
    torch.manual_seed(0)
    model = CenterNet()
    model.backbone.load_state_dict({k: v.clone() for k, v in Backbone().state_dict().items()})  # "pretrained"
    freeze(model.backbone)
    before = {k: v.clone() for k, v in model.backbone.state_dict().items()}
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    data = [(torch.rand(2, 3, 16, 16), torch.rand(2, 2, 4, 4).round(), torch.rand(2, 2, 4, 4)) for _ in range(2)]
    for epoch in range(2):
        loss = train_epoch(model, opt, data)
        print(f"epoch {epoch} train {loss:.3f} val {validate(model, data):.3f}")
    return model.backbone, before


def verify(out):
    backbone, before = out
    assert not torch.equal(backbone[1].running_mean, before["1.running_mean"])


TRUTH = Truth(
    fault="the frozen backbone's batch norms go on taking statistics",
    names=("backbone",),
    repair=("model.train()\nmodel.backbone.eval()",),
)
