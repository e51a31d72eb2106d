"""torchvision's segmentation reference: the group of the auxiliary classifier is a copy of the one above it."""

from types import SimpleNamespace

import torch
from torch import nn

from tests.practice.truth import Truth


class FCNHead(nn.Sequential):
    def __init__(self, in_channels, channels):
        inter = in_channels // 2
        super().__init__(
            nn.Conv2d(in_channels, inter, 3, padding=1, bias=False),
            nn.BatchNorm2d(inter),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inter, channels, 1),
        )


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer3 = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.layer4 = nn.Sequential(nn.Conv2d(8, 12, 3, 1, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU())

    def forward(self, x):
        aux = self.layer3(x)
        return {"out": self.layer4(aux), "aux": aux}


class SegmentationModel(nn.Module):
    def __init__(self, num_classes, aux_loss):
        super().__init__()
        self.backbone, self.classifier = Backbone(), FCNHead(12, num_classes)
        self.aux_classifier = FCNHead(8, num_classes) if aux_loss else None

    def forward(self, x):
        features, size = self.backbone(x), x.shape[-2:]
        result = {"out": nn.functional.interpolate(self.classifier(features["out"]), size=size, mode="bilinear")}
        if self.aux_classifier is not None:
            result["aux"] = nn.functional.interpolate(self.aux_classifier(features["aux"]), size=size, mode="bilinear")
        return result


def criterion(inputs, target):
    losses = {name: nn.functional.cross_entropy(x, target, ignore_index=255) for name, x in inputs.items()}
    return losses["out"] if len(losses) == 1 else losses["out"] + 0.5 * losses["aux"]


def make_optimizer(model, args):
    params_to_optimize = [
        {"params": [p for p in model.backbone.parameters() if p.requires_grad]},
        {"params": [p for p in model.classifier.parameters() if p.requires_grad]},
    ]
    if args.aux_loss:
        params = [p for p in model.classifier.parameters() if p.requires_grad]  # cause
        params_to_optimize.append({"params": params, "lr": args.lr * 10})
    return torch.optim.SGD(params_to_optimize, lr=args.lr, momentum=0.9, weight_decay=1e-4)  # symptom


def train_one_epoch(model, optimizer, lr_scheduler, batches):
    losses = []
    for image, target in batches:
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lr_scheduler.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    args = SimpleNamespace(aux_loss=True, lr=0.01, iters=4)
    model = SegmentationModel(4, args.aux_loss)
    optimizer = make_optimizer(model, args)
    lr_scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=args.iters, power=0.9)
    batches = [(torch.randn(2, 3, 16, 16), torch.randint(0, 4, (2, 16, 16))) for _ in range(args.iters)]
    return train_one_epoch(model, optimizer, lr_scheduler, batches)


TRUTH = Truth(
    fault="the parameters of the classifier are in two groups, those of the auxiliary classifier in none",
    raises="some parameters appear in more than one parameter group",
    names=("classifier",),
    repair=("params = [p for p in model.aux_classifier.parameters() if p.requires_grad]",),
)
