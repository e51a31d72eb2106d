"""Prototypical networks: the prototypes go through tolist() and the support set gives no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

WAY, SHOT, QUERY = 3, 4, 5


def conv_block(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1),
        nn.GroupNorm(2, out_channels),
        nn.SiLU(),
        nn.AvgPool2d(2),
    )


class ProtoNet(nn.Module):
    def __init__(self, x_dim=1, hid_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(conv_block(x_dim, hid_dim), conv_block(hid_dim, hid_dim))

    def forward(self, x):
        return self.encoder(x).flatten(1)


def euclidean_dist(x, y):
    return torch.pow(x.unsqueeze(1) - y.unsqueeze(0), 2).sum(2)


def prototypical_loss(embeddings, target, n_support):
    """The loss of Snell et al. on one episode; classes may come in any order."""
    classes = torch.unique(target)
    support, query = {}, []
    for c in classes.tolist():
        idxs = target.eq(c).nonzero().squeeze(1)
        support[c] = embeddings[idxs[:n_support]].mean(0)
        query.append(idxs[n_support:])
    prototypes = torch.tensor([p.tolist() for p in support.values()])  # cause
    query_samples = embeddings[torch.cat(query)]
    log_p_y = F.log_softmax(-euclidean_dist(query_samples, prototypes), dim=1)
    labels = torch.arange(len(classes)).repeat_interleave(len(query[0]))
    loss = F.nll_loss(log_p_y, labels)
    accuracy = (log_p_y.argmax(1) == labels).float().mean()
    return loss, accuracy.item()


class EpisodeSampler:
    def __init__(self, n_classes, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.means = torch.randn(n_classes, 1, 8, 8, generator=self.generator)

    def episode(self):
        chosen = torch.randperm(len(self.means), generator=self.generator)[:WAY]
        target = chosen.repeat_interleave(SHOT + QUERY)
        noise = torch.randn(len(target), 1, 8, 8, generator=self.generator)
        return self.means[target] + 0.5 * noise, target


def train(episodes=3):
    model = ProtoNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    sampler = EpisodeSampler(8, seed=7)
    model.train()
    from_support = []
    for _ in range(episodes):
        x, target = sampler.episode()
        embeddings = model(x)
        embeddings.retain_grad()
        loss, _ = prototypical_loss(embeddings, target, SHOT)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lr_scheduler.step()
        grads = embeddings.grad.view(WAY, SHOT + QUERY, -1)
        from_support.append(grads[:, :SHOT].abs().sum().item())
    return from_support


def run():
    torch.manual_seed(0)
    return train()


def verify(outcome):
    assert all(g == 0 for g in outcome), outcome


TRUTH = Truth(
    fault="torch.tensor(p.tolist()) cuts the prototypes from the support embeddings",
    names=("prototypes",),
    minor=True,  # prototypes may be meant as constants: the embeddings learn as queries
    repair=("prototypes = torch.stack(list(support.values()))",),
)
