"""L-BFGS: the closure calls backward and does not clear the gradients."""

import torch
from torch import nn

from tests.practice.truth import Truth


class StyleImage(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.image = nn.Parameter(torch.rand(shape))


def gram(x):
    f = x.flatten(1)
    return f @ f.t() / f.shape[1]


def run():
    torch.manual_seed(0)
    extractor = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU()).requires_grad_(False)
    content, style = torch.rand(3, 8, 8), torch.rand(3, 8, 8)
    wanted, look = extractor(content), gram(extractor(style))
    result = StyleImage((3, 8, 8))
    optimizer = torch.optim.LBFGS(result.parameters(), lr=0.1, max_iter=4)
    losses, norms = [], []

    def closure():  # cause
        features = extractor(result.image)
        loss = (features - wanted).pow(2).mean() + 10 * (gram(features) - look).pow(2).mean()
        loss.backward()  # also
        norms.append(float(result.image.grad.norm()))
        losses.append(loss.item())
        return loss

    for _ in range(3):
        optimizer.step(closure)  # also
    image = result.image.detach().clone().requires_grad_(True)
    features = extractor(image)
    loss = (features - wanted).pow(2).mean() + 10 * (gram(features) - look).pow(2).mean()
    closure()
    return result.image.grad, torch.autograd.grad(loss, image)[0]


TRUTH = Truth(
    fault="gradients of all calls are added",
    repair=("def closure():\n    optimizer.zero_grad()",),
)


def verify(grads):
    assert not torch.allclose(*grads, rtol=1e-3, atol=1e-6)
