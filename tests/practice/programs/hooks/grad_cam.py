"""Grad-CAM: the hook asks the feature map to keep its gradient, while the evaluation runs under no_grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SmallVGG(nn.Module):
    def __init__(self, ch=6, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU()
        )
        self.classifier = nn.Linear(ch, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class GradCAM:
    def __init__(self, model, layer):
        self.model, self.maps = model, None
        self.handle = layer.register_forward_hook(self.save)

    def save(self, module, args, output):
        output.retain_grad()  # symptom
        self.maps = output

    @torch.no_grad()  # cause
    def __call__(self, image, target=None):
        self.model.eval()
        logits = self.model(image)
        if target is None:
            target = logits.argmax(1)
        logits.gather(1, target[:, None]).sum().backward()
        weights = self.maps.grad.mean((2, 3), keepdim=True)
        cam = F.relu((weights * self.maps.detach()).sum(1))
        self.model.zero_grad()
        return cam / cam.amax((1, 2), keepdim=True).clamp(min=1e-8)

    def remove(self):
        self.handle.remove()


def run():
    torch.manual_seed(0)
    model = SmallVGG()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(2):
        x, y = torch.rand(4, 3, 8, 8), torch.randint(0, 4, (4,))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    cam = GradCAM(model, model.features[3])
    heat = cam(torch.rand(2, 3, 8, 8))
    cam.remove()
    print("cam", tuple(heat.shape), heat.max().item())
    return heat


TRUTH = Truth(
    fault="nothing is recorded where gradients are asked for",
    raises="can't retain_grad on Tensor that has requires_grad=False",
    names=("no_grad",),
    repair=("@torch.enable_grad()",),
)
