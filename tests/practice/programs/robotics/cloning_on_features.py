"""Behaviour cloning of action chunks on visual features that a frozen backbone extracts once, for speed."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Backbone(nn.Module):
    """Stands for a pretrained image encoder."""

    def __init__(self, dim=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, dim),
        )

    def forward(self, image):
        return self.net(image)


class ChunkPolicy(nn.Module):
    """Features and joint angles to the next few actions."""

    def __init__(self, features=12, joints=4, chunk=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features + joints, 32), nn.Mish(), nn.Linear(32, 32), nn.Mish())
        self.visual_gate = nn.Linear(features, 32)
        self.head = nn.Linear(32, joints * chunk)
        self.chunk = chunk

    def forward(self, features, joints):
        x = self.trunk(torch.cat([features, joints], -1)) * self.visual_gate(features).sigmoid()
        return self.head(x).view(len(x), self.chunk, -1)


class Demonstrations:
    def __init__(self, backbone, n=16):
        self.images, self.joints = torch.rand(n, 3, 10, 10), torch.randn(n, 4)
        self.actions = torch.randn(n, 3, 4)
        self.backbone = backbone.eval()

    @torch.inference_mode()  # cause
    def extract(self):
        """Run the backbone once over all frames."""
        return torch.cat([self.backbone(part) for part in self.images.split(8)])

    def batches(self, features, size=8):
        """Neighbouring frames stay together: the chunks overlap."""
        return zip(features.split(size), self.joints.split(size), self.actions.split(size), strict=True)


def run(epochs=2):
    torch.manual_seed(0)
    demonstrations = Demonstrations(Backbone())
    features = demonstrations.extract()
    print(f"{tuple(features.shape)} features cached")
    policy = ChunkPolicy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for feature, joints, actions in demonstrations.batches(features):
            loss = nn.functional.l1_loss(policy(feature, joints), actions)  # symptom
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} l1 {loss.item():.4f}")
    return policy


TRUTH = Truth(
    fault="features made in inference mode are put into a graph that training needs",
    raises="Inference tensors cannot be saved for backward",
    names=("inference_mode",),
    repair=("@torch.no_grad()",),
)
