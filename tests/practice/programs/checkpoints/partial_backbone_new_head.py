"""A backbone from a file with other classes: matching keys are loaded, the head is new, and two learning rates are set."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.fc(F.adaptive_avg_pool2d(F.relu(self.conv2(x)), 1).flatten(1))


def load_matching(model, checkpoint):
    own = model.state_dict()
    checkpoint = {k.removeprefix("module."): v for k, v in checkpoint.items()}
    matching = {k: v for k, v in checkpoint.items() if k in own and v.shape == own[k].shape}
    skipped = sorted(set(checkpoint) - set(matching))
    own.update(matching)
    model.load_state_dict(own)
    return skipped


def setup():
    global PRETRAINED
    torch.manual_seed(7)
    buffer = io.BytesIO()
    torch.save({"module." + k: v for k, v in Net(10).state_dict().items()}, buffer)
    PRETRAINED = buffer.getvalue()


def run():
    torch.manual_seed(0)
    model = Net(3)
    checkpoint = torch.load(io.BytesIO(PRETRAINED), map_location="cpu", weights_only=True)
    skipped = load_matching(model, checkpoint)
    loaded = model.conv1.weight.detach().clone()
    backbone = [p for n, p in model.named_parameters() if not n.startswith("fc")]
    optimizer = torch.optim.SGD(
        [{"params": backbone, "lr": 1e-3}, {"params": model.fc.parameters()}], lr=1e-2, momentum=0.9, nesterov=True
    )
    losses = []
    for _ in range(3):
        x, y = torch.randn(6, 1, 7, 7), torch.randint(3, (6,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, skipped, loaded, checkpoint, losses


TRUTH = Truth()


def verify(out):
    model, skipped, loaded, checkpoint, losses = out
    assert skipped == ["fc.bias", "fc.weight"]
    assert torch.equal(loaded, checkpoint["module.conv1.weight"])
    assert not torch.equal(loaded, model.conv1.weight)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters()) and max(losses) < 100
