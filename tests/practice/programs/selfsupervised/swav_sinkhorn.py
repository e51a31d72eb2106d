"""SwAV: assignments come from Sinkhorn iterations without a gradient, prototypes are normalised in place before a step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


@torch.no_grad()
def distributed_sinkhorn(out, epsilon=0.05, iterations=3):
    Q = torch.exp(out / epsilon).t()
    B, K = Q.shape[1], Q.shape[0]
    Q /= torch.sum(Q)
    for _ in range(iterations):
        Q /= torch.sum(Q, dim=1, keepdim=True)
        Q /= K
        Q /= torch.sum(Q, dim=0, keepdim=True)
        Q /= B
    Q *= B
    return Q.t()


class SwAVNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8))
        self.prototypes = nn.Linear(8, 6, bias=False)

    def forward(self, inputs):
        x = F.normalize(self.backbone(torch.cat(inputs)), dim=1, p=2)
        return x, self.prototypes(x)


def run():
    torch.manual_seed(0)
    model = SwAVNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    queue, losses, kept = torch.zeros(2, 8, 8), [], []
    for it in range(4):
        with torch.no_grad():
            w = model.prototypes.weight.data.clone()
            w = F.normalize(w, dim=1, p=2)
            model.prototypes.weight.copy_(w)
        x = torch.randn(8, 10)
        embedding, output = model([x + 0.1 * torch.randn_like(x) for _ in range(2)])
        embedding = embedding.detach()
        bs, loss = 8, 0
        for i in range(2):
            with torch.no_grad():
                out = output[bs * i : bs * (i + 1)].detach()
                if it >= 2:
                    out = torch.cat((torch.mm(queue[i], model.prototypes.weight.t()), out))
                queue[i] = embedding[i * bs : (i + 1) * bs]
                q = distributed_sinkhorn(out)[-bs:]
            p = F.log_softmax(output[bs * (1 - i) : bs * (2 - i)] / 0.1, dim=1)
            loss -= torch.mean(torch.sum(q * p, dim=1))
        loss /= 2
        optimizer.zero_grad()
        loss.backward()
        if it < 1:
            for name, p in model.named_parameters():
                if "prototypes" in name:
                    p.grad = None
        optimizer.step()
        kept.append(torch.equal(model.prototypes.weight, w))
        losses.append(loss.item())
    return model, kept, losses


TRUTH = Truth()


def verify(out):
    model, kept, losses = out
    assert kept == [True, False, False, False]
    assert all(0 < loss < 100 for loss in losses)
    assert all(p.grad is not None for p in model.parameters())
