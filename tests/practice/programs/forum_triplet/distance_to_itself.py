"""Batch-hard triplet loss: the distance matrix takes sqrt of an exact zero on its diagonal, whose gradient is infinite times zero."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def pairwise_distances(x):
    diff = x.unsqueeze(0) - x.unsqueeze(1)
    return diff.pow(2).sum(-1).sqrt()  # cause


def batch_hard_triplet_loss(emb, labels, margin=0.5):
    d = pairwise_distances(emb)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    eye = torch.eye(len(labels), dtype=torch.bool)
    positive = same & ~eye
    # multiply by masks as in the TensorFlow version
    hardest_positive = (d * positive.float()).max(1).values
    hardest_negative = (d + d.detach().max() * same.float()).min(1).values
    return torch.relu(hardest_positive - hardest_negative + margin).mean()


class EmbeddingNet(nn.Module):
    def __init__(self, n_in=10, dim=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 20), nn.PReLU(), nn.Linear(20, dim))

    def forward(self, x):
        return self.body(x)


class PKSampler:
    """P classes with K samples each."""

    def __init__(self, p, k, seed=0):
        self.p, self.k = p, k
        self.g = torch.Generator().manual_seed(seed)
        self.centres = torch.randn(6, 10, generator=self.g)

    def draw(self):
        classes = torch.randperm(6, generator=self.g)[: self.p].repeat_interleave(self.k)
        noise = torch.randn(len(classes), 10, generator=self.g)
        return self.centres[classes] + 0.5 * noise, classes


def run():
    torch.manual_seed(0)
    net, sampler = EmbeddingNet(), PKSampler(3, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        x, y = sampler.draw()
        loss = batch_hard_triplet_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def verify(losses):
    assert losses[0] == losses[0]
    assert losses[1] != losses[1], losses


TRUTH = Truth(
    fault="sqrt(0) on the diagonal has an infinite slope; masked by a product with zero it gives NaN",
    values=True,
    names=("sqrt",),
    repair=("return (diff.pow(2).sum(-1) + 1e-8).sqrt()",),
)
