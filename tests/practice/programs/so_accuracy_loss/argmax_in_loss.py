"""'element 0 of tensors does not require grad': the loss is computed on the argmax of the network."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 10)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return self.fc(x.flatten(1))


class OrdinalLoss(nn.Module):
    """Digits that are near each other should cost less."""

    def __init__(self, n=10):
        super().__init__()
        self.register_buffer("grid", torch.arange(n).float())

    def forward(self, logits, target):
        prediction = logits.argmax(dim=1).float()  # cause
        return (prediction - target.float()).abs().mean()


def synthetic_digits(n):
    y = torch.randint(0, 10, (n,))
    x = torch.rand(n, 1, 8, 8) * 0.2
    for i, k in enumerate(y.tolist()):
        x[i, 0, k % 8, : 1 + k // 2] = 1
    return x, y


def train(model, criterion, optimizer, epochs=3):
    log = []
    for epoch in range(epochs):
        images, targets = synthetic_digits(12)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, targets)
        loss.backward()  # symptom
        optimizer.step()
        log.append(loss.item())
    return log


def run():
    torch.manual_seed(0)
    model = DigitNet()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.5)
    return train(model, OrdinalLoss(), optimizer)


TRUTH = Truth(
    fault="argmax is not differentiable, so the loss has no graph",
    raises="element 0 of tensors does not require grad",
    names=("argmax",),
    repair=("prediction = logits.softmax(1) @ self.grid",),
)
