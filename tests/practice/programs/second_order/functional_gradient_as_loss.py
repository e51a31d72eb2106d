"""torch.func in a training loop: `grad_and_value` hands back a value without a graph, and backward() is called on it."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class MLP(nn.Module):
    def __init__(self, inp=6, hidden=10, classes=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(inp, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class PerSampleTrainer:
    """Logs the gradient noise scale next to ordinary training."""

    def __init__(self, model, lr=0.05):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)

    def sample_loss(self, params, x, y):
        logits = functional_call(self.model, params, (x[None],))
        return F.cross_entropy(logits, y[None])

    def step(self, x, y):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        grads, losses = vmap(grad_and_value(self.sample_loss), in_dims=(None, 0, 0))(params, x, y)  # also
        flat = torch.cat([g.flatten(1) for g in grads.values()], dim=1)
        noise = flat.var(0).sum() / flat.mean(0).square().sum()
        loss = losses.mean()  # cause
        self.opt.zero_grad()
        loss.backward()  # symptom
        self.opt.step()
        return loss.item(), noise.item()


def run():
    torch.manual_seed(0)
    trainer = PerSampleTrainer(MLP())
    for step in range(3):
        x = torch.randn(16, 6)
        y = x[:, :3].argmax(1)
        loss, noise = trainer.step(x, y)
        print(f"step {step} loss {loss:.4f} gradient noise {noise:.2f}")
    return trainer.model


TRUTH = Truth(
    fault="the value that torch.func returns has no graph",
    raises="element 0 of tensors does not require grad",
    names=("loss",),
    repair=("loss = F.cross_entropy(self.model(x), y)",),
)
