"""Script to Hugging Face: as a PreTrainedModel the class calls post_init(), which initializes the backbone loaded two lines above anew."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

from tests.practice.truth import Truth


class Tower(nn.Module):
    def __init__(self, features=6, dim=8):
        super().__init__()
        self.fc1 = nn.Linear(features, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.tanh(self.fc2(torch.tanh(self.fc1(x))))


class RewardConfig(PretrainedConfig):
    model_type = "tiny-reward"

    def __init__(self, features=6, dim=8, **kwargs):
        super().__init__(**kwargs)
        self.features, self.dim = features, dim


class RewardModel(PreTrainedModel):
    config_class = RewardConfig

    def __init__(self, config, backbone=None):
        super().__init__(config)
        self.backbone = Tower(config.features, config.dim)
        if backbone is not None:
            self.backbone.load_state_dict(backbone)
        self.value = nn.Linear(config.dim, 1)
        self.post_init()  # cause

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.value(self.backbone(x)).squeeze(-1)


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    pretrained = Tower().state_dict()
    model = RewardModel(RewardConfig(), pretrained)
    start = model.backbone.fc1.weight.detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        chosen, rejected = torch.randn(8, 6) + 0.3, torch.randn(8, 6)
        loss = -F.logsigmoid(model(chosen) - model(rejected)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return pretrained["fc1.weight"], start


def verify(outcome):
    pretrained, start = outcome
    assert not torch.equal(pretrained, start)


TRUTH = Truth(
    fault="the pretrained backbone is overwritten by post_init's random initialization",
    names=("backbone",),
    repair=("self.post_init()\nif backbone is not None:\n    self.backbone.load_state_dict(backbone)",),
)
