"""TensorFlow to PyTorch, healthy: two tapes became one forward pass, two autograd.grad calls with retain_graph, and gradients set by hand."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Generator(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))


class Discriminator(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))


def apply_gradients(optimizer, grads_and_vars):
    """optimizer.apply_gradients(zip(grads, vars)) of Keras."""
    for gradient, variable in grads_and_vars:
        variable.grad = gradient
    optimizer.step()
    optimizer.zero_grad()


def train_step(generator, discriminator, optimizers, real):
    fake = generator(torch.randn(real.shape[0], 4))
    real_logit, fake_logit = discriminator(real), discriminator(fake)
    ones, zeros = torch.ones_like(real_logit), torch.zeros_like(real_logit)
    d_loss = F.binary_cross_entropy_with_logits(real_logit, ones) + F.binary_cross_entropy_with_logits(
        fake_logit, zeros
    )
    g_loss = F.binary_cross_entropy_with_logits(fake_logit, ones)
    d_vars, g_vars = list(discriminator.parameters()), list(generator.parameters())
    d_grads = torch.autograd.grad(d_loss, d_vars, retain_graph=True)
    g_grads = torch.autograd.grad(g_loss, g_vars)
    apply_gradients(optimizers["d"], zip(d_grads, d_vars, strict=True))
    apply_gradients(optimizers["g"], zip(g_grads, g_vars, strict=True))
    return float(d_loss), float(g_loss)


def run():
    torch.manual_seed(0)
    generator, discriminator = Generator(), Discriminator()
    optimizers = {
        "d": torch.optim.Adam(discriminator.parameters(), lr=1e-3),
        "g": torch.optim.Adam(generator.parameters(), lr=1e-3),
    }
    before = [p.detach().clone() for m in (generator, discriminator) for p in m.parameters()]
    for _ in range(3):
        train_step(generator, discriminator, optimizers, torch.randn(8, 6) + 1.0)
    after = [p.detach().clone() for m in (generator, discriminator) for p in m.parameters()]
    return before, after


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(b, a) for b, a in zip(before, after, strict=True))


TRUTH = Truth()
