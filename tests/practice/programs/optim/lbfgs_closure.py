"""L-BFGS: the closure does not clear the gradients, so each evaluation of the line search adds to the last."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def gram(features):
    b, c, h, w = features.shape
    f = features.view(b * c, h * w)
    return f @ f.T / f.numel()


class StyleTransfer:
    def __init__(self, content, style):
        self.cnn = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()
        )
        self.cnn.eval().requires_grad_(False)
        with torch.no_grad():
            self.content_target = self.cnn(content)
            self.style_targets = [gram(f) for f in self.features(style)]
        self.image = content.clone().requires_grad_(True)

    def features(self, x):
        out = []
        for layer in self.cnn:
            x = layer(x)
            if isinstance(layer, nn.ReLU):
                out.append(x)
        return out

    def loss(self):
        feats = self.features(self.image)
        style = sum(F.mse_loss(gram(f), t) for f, t in zip(feats, self.style_targets))
        return F.mse_loss(feats[-1], self.content_target) + 1e3 * style

    def fit(self, rounds=2):
        opt = torch.optim.LBFGS([self.image], lr=1.0, max_iter=4, history_size=5)
        trace = []

        def closure():
            with torch.no_grad():
                self.image.clamp_(0, 1)
            loss = self.loss()  # cause
            loss.backward()
            trace.append((loss.item(), self.image.detach().clone(), self.image.grad.clone()))
            return loss

        for r in range(rounds):
            opt.step(closure)
            print(f"round {r}: loss {trace[-1][0]:.4e} after {len(trace)} evaluations")
        return trace


def run():
    torch.manual_seed(0)
    job = StyleTransfer(torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8))
    return job, job.fit()


def verify(out):
    job, trace = out
    _, image, grad = trace[-1]
    job.image.data.copy_(image)
    (exact,) = torch.autograd.grad(job.loss(), job.image)
    assert not torch.allclose(exact, grad, rtol=1e-2)


TRUTH = Truth(
    fault="gradients add up over the closure's evaluations",
    names=("closure",),
    repair=("opt.zero_grad()\nloss = self.loss()",),
)
