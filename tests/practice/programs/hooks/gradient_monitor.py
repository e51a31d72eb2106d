"""A full backward hook logs a convolution's gradients, but the ReLU after it works in place on the hooked output."""

from collections import defaultdict

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class BasicBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.act = nn.ReLU(inplace=True)  # cause
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.conv2(self.act(self.conv1(x))))  # symptom


class Net(nn.Module):
    def __init__(self, ch=4, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.block = BasicBlock(ch)
        self.fc = nn.Linear(ch, classes)

    def forward(self, x):
        return self.fc(self.block(self.stem(x)).mean((2, 3)))


class GradientMonitor:
    def __init__(self, model, kinds=(nn.Conv2d,)):
        self.stats = defaultdict(list)
        self.handles = []
        for name, module in model.named_modules():
            if isinstance(module, kinds):
                hook = module.register_full_backward_hook(self.hook(name))  # also
                self.handles.append(hook)

    def hook(self, name):
        def record(module, grad_input, grad_output):
            self.stats[name].append(grad_output[0].norm().item())

        return record

    def close(self):
        for handle in self.handles:
            handle.remove()


def run():
    torch.manual_seed(0)
    model = Net()
    monitor = GradientMonitor(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(2):
        loss = F.cross_entropy(model(torch.randn(4, 1, 6, 6)), torch.randint(0, 3, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f}", {k: f"{v[-1]:.2e}" for k, v in monitor.stats.items()})
    monitor.close()
    return model


TRUTH = Truth(
    fault="an in-place activation on the output of a module with a backward hook",
    raises="Output 0 of BackwardHookFunction is a view and is being modified inplace",
    names=("hook",),
    repair=("self.act = nn.ReLU()",),
)
