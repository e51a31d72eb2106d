"""Linear probe: the backbone is frozen by an attribute of the module that no one reads, so it goes on learning."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.conv2(F.relu(self.conv1(x))))


class LinearProbe(nn.Module):
    def __init__(self, backbone, dim, n_classes):
        super().__init__()
        self.backbone = backbone
        self.backbone.requires_grad = False  # cause
        self.fc = nn.Linear(dim, n_classes)
        self.fc.weight.data.normal_(mean=0.0, std=0.01)
        self.fc.bias.data.zero_()

    def forward(self, x):
        return self.fc(self.backbone(x))


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def run():
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    pretrained = {k: torch.randn_like(v) * 0.1 for k, v in backbone.state_dict().items()}
    backbone.load_state_dict(pretrained)
    model = LinearProbe(backbone, 8, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=0.0)  # also
    for epoch in range(2):
        for _it in range(2):
            model.train()
            x, y = torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        acc = validate(model, torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,)))
        print(f"epoch {epoch} acc@1 {100 * acc:.1f}")
    return model, pretrained


def verify(out):
    model, pretrained = out
    assert not torch.equal(model.backbone[0].weight, pretrained["0.weight"])


TRUTH = Truth(
    fault="the backbone is not frozen: requires_grad was set on the module",
    names=("backbone",),
    repair=("self.backbone.requires_grad_(False)",),
)
