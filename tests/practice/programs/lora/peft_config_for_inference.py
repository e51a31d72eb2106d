"""PEFT: an adapter made for inference is trained."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def run():
    torch.manual_seed(0)
    config = LoraConfig(r=2, target_modules=["fc1", "fc2"], inference_mode=True)  # cause
    net = get_peft_model(Net(), config)  # also
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    net.train()
    loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,)))
    opt.zero_grad()
    loss.backward()  # symptom
    opt.step()
    return net


TRUTH = Truth(
    fault="all parameters are frozen, the adapters too",
    raises="element 0 of tensors does not require grad and does not have a grad_fn",
    repair=("config = LoraConfig(r=2, target_modules=['fc1', 'fc2'])",),
)
