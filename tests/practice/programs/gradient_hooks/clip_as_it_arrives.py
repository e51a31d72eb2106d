"""Each parameter clips its own gradient in a hook, which hands back what clip_grad_norm_() returns."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ChannelAttention(nn.Module):
    def __init__(self, width, squeeze=4):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(width, width // squeeze), nn.ReLU(), nn.Linear(width // squeeze, width))

    def forward(self, x):
        return x * self.fc(x.mean(-1)).sigmoid().unsqueeze(-1)


class EcgNet(nn.Module):
    def __init__(self, leads=12, width=16, classes=5):
        super().__init__()
        self.conv1 = nn.Conv1d(leads, width, 7, stride=2, padding=3)
        self.conv2 = nn.Conv1d(width, width, 7, stride=2, padding=3)
        self.attention, self.norm = ChannelAttention(width), nn.BatchNorm1d(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.norm(self.conv2(x)))
        return self.classifier(self.attention(x).mean(-1))


class PerParameterClipping:
    """Clip the gradient of each parameter by its own norm while backward runs."""

    def __init__(self, model, max_norm):
        self.max_norm = max_norm
        self.handles = [p.register_hook(self.make_hook(p)) for p in model.parameters() if p.requires_grad]

    def make_hook(self, param):
        def hook(grad):
            return nn.utils.clip_grad_norm_([param], self.max_norm)  # cause

        return hook

    def remove(self):
        for handle in self.handles:
            handle.remove()


def train_epoch(model, optimizer, batches):
    model.train()
    largest = 0.0
    for signal, labels in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = F.binary_cross_entropy_with_logits(model(signal), labels, pos_weight=torch.full((5,), 20.0))
        loss.backward()  # symptom
        largest = max(largest, *(p.grad.norm().item() for p in model.parameters()))
        optimizer.step()
    return largest


def run():
    torch.manual_seed(0)
    model = EcgNet()
    clipping = PerParameterClipping(model, max_norm=0.05)
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    batches = [(3 * torch.randn(4, 12, 64), (torch.rand(4, 5) < 0.3).float()) for _ in range(3)]
    try:
        return train_epoch(model, optimizer, batches)
    finally:
        clipping.remove()


def well(largest):
    assert largest < 0.051, largest


TRUTH = Truth(
    fault="the hook returns the norm, a number, in place of the gradient",
    raises="hook 'hook' has changed the size of value",
    names=("clip_grad_norm_",),
    repair=("return grad * (self.max_norm / (grad.norm() + 1e-6)).clamp(max=1.0)",),
)
