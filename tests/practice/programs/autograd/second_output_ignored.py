"""Vector quantisation as a Function: it returns the commitment cost too, whose gradient backward() forgets."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

from tests.practice.truth import Truth


class Quantise(Function):
    """Nearest code (straight through) and the commitment cost |z - code|^2 in one pass."""

    @staticmethod
    def forward(ctx, z, codes):
        index = torch.cdist(z, codes).argmin(1)
        chosen = codes[index]
        difference = z - chosen
        ctx.save_for_backward(difference)
        ctx.mark_non_differentiable(index)
        return chosen.clone(), difference.pow(2).mean(), index

    @staticmethod
    def backward(ctx, grad_quantised, grad_cost, _):
        (difference,) = ctx.saved_tensors
        grad_z = grad_quantised  # cause
        return grad_z, None


class VQAutoencoder(nn.Module):
    def __init__(self, dim=6, latent=3, codes=8, beta=5.0):
        super().__init__()
        self.encoder = nn.Linear(dim, latent)
        self.decoder = nn.Linear(latent, dim)
        self.register_buffer("codes", torch.randn(codes, latent))
        self.beta = beta

    def forward(self, x):
        z = self.encoder(x)
        quantised, cost, index = Quantise.apply(z, self.codes)
        if self.training:
            self.move_codes(z.detach(), index)
        return self.decoder(quantised), self.beta * cost

    @torch.no_grad()
    def move_codes(self, z, index):
        for k in index.unique():
            self.codes[k].lerp_(z[index == k].mean(0), 0.1)


def run():
    torch.manual_seed(0)
    model = VQAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    pulls = []
    for _ in range(3):
        x = torch.randn(16, 6)
        reconstruction, commitment = model(x)
        weight = model.encoder.weight
        pulls.append(torch.autograd.grad(commitment, weight, retain_graph=True)[0].abs().max().item())
        loss = F.mse_loss(reconstruction, x) + commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return pulls


def verify(outcome):
    # the commitment loss does not move the encoder
    assert outcome == [0.0, 0.0, 0.0]


TRUTH = Truth(
    fault="backward() ignores the gradient of the second output, the commitment loss has no effect on the encoder",
    names=("Quantise",),
    repair=("grad_z = grad_quantised + grad_cost * 2 * difference / difference.numel()",),
)
