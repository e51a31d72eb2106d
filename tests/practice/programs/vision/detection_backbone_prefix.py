"""Detection: after the backbone was wrapped, its names begin with "body.", and the list of layers to train matches none of them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, n, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(n))
        self.register_buffer("bias", torch.zeros(n))
        self.register_buffer("running_mean", torch.zeros(n))
        self.register_buffer("running_var", torch.ones(n))

    def forward(self, x):
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        return x * scale.view(1, -1, 1, 1) + (self.bias - self.running_mean * scale).view(1, -1, 1, 1)


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, norm_layer):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, 2, 1, bias=False)
        self.bn1 = norm_layer(cout)
        self.downsample = nn.Conv2d(cin, cout, 1, 2, bias=False)

    def forward(self, x):
        return F.relu(self.bn1(self.conv1(x)) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self, norm_layer):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn1 = norm_layer(8)
        self.layer1 = BasicBlock(8, 8, norm_layer)
        self.layer2 = BasicBlock(8, 16, norm_layer)
        self.layer3 = BasicBlock(16, 16, norm_layer)
        self.layer4 = BasicBlock(16, 16, norm_layer)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        out = {}
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
            out[str(i - 1)] = x
        return out


class BackboneWithFPN(nn.Module):
    def __init__(self, body, channels=(8, 16, 16, 16), out=8):
        super().__init__()
        self.body = body
        self.lateral = nn.ModuleList(nn.Conv2d(c, out, 1) for c in channels)

    def forward(self, x):
        feats = [conv(f) for conv, f in zip(self.lateral, self.body(x).values())]
        for i in range(len(feats) - 1, 0, -1):
            feats[i - 1] = feats[i - 1] + F.interpolate(feats[i], size=feats[i - 1].shape[-2:])
        return feats


def resnet_fpn_backbone(trainable_layers=3):
    backbone = BackboneWithFPN(ResNet(FrozenBatchNorm2d))
    layers_to_train = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    for name, parameter in backbone.named_parameters():
        if name.startswith("lateral"):
            continue
        if all(not name.startswith(layer) for layer in layers_to_train):  # cause
            parameter.requires_grad_(False)  # also
    return backbone


class RPNHead(nn.Module):
    def __init__(self, backbone, channels=8, anchors=2):
        super().__init__()
        self.backbone = backbone
        self.conv = nn.Conv2d(channels, channels, 3, 1, 1)
        self.cls_logits = nn.Conv2d(channels, anchors, 1)
        self.bbox_pred = nn.Conv2d(channels, anchors * 4, 1)

    def forward(self, images):
        t = [F.relu(self.conv(f)) for f in self.backbone(images)]
        return torch.cat([self.cls_logits(x).flatten(1) for x in t], 1), torch.cat(
            [self.bbox_pred(x).flatten(1) for x in t], 1
        )


def run():
    torch.manual_seed(0)
    model = RPNHead(resnet_fpn_backbone())
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9, weight_decay=1e-4)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        images = torch.rand(2, 3, 32, 32)
        objectness, boxes = model(images)
        labels = (torch.rand_like(objectness) > 0.8).float()
        losses = {
            "loss_objectness": F.binary_cross_entropy_with_logits(objectness, labels),
            "loss_rpn_box_reg": F.smooth_l1_loss(boxes, torch.randn_like(boxes)),
        }
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [n for n, p in model.named_parameters() if not torch.equal(p, before[n])]


def verify(moved):
    assert moved and not any(n.startswith("backbone.body") for n in moved)


TRUTH = Truth(
    fault="all of backbone.body is frozen, the names do not begin with the layers to train",
    names=("backbone.body",),
    repair=('if all(not name.removeprefix("body.").startswith(layer) for layer in layers_to_train):',),
)
