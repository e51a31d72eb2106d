"""'nn.MultiheadAttention returns NaN': an agent that sees nobody masks all of its keys."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EntityEncoder(nn.Module):
    def __init__(self, entity_dim=5, dim=16, heads=2):
        super().__init__()
        self.embed = nn.Linear(entity_dim, dim)
        self.self_embed = nn.Linear(entity_dim, dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, own, entities, visible):
        query = self.self_embed(own).unsqueeze(1)
        keys = self.embed(entities)
        hidden = ~visible  # cause
        out, weights = self.attn(query, keys, keys, key_padding_mask=hidden)
        out = out.masked_fill(~visible.any(1)[:, None, None], 0.0)
        return self.norm(query + out).squeeze(1), weights


class QNetwork(nn.Module):
    def __init__(self, actions=4, dim=16):
        super().__init__()
        self.encoder = EntityEncoder(dim=dim)
        self.value, self.advantage = nn.Linear(dim, 1), nn.Linear(dim, actions)

    def forward(self, own, entities, visible):
        h, _ = self.encoder(own, entities, visible)
        adv = self.advantage(h)
        return self.value(h) + adv - adv.mean(-1, keepdim=True)


def sample_batch(n=8, entities=4):
    own, others = torch.randn(n, 5), torch.randn(n, entities, 5)
    visible = (own[:, None, :2] - others[..., :2]).norm(dim=-1) < 1.2
    return own, others, visible, torch.randint(0, 4, (n,)), torch.randn(n)


def td_loss(net, target, batch, gamma=0.95):
    own, others, visible, action, reward = batch
    q = net(own, others, visible).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        backup = reward + gamma * target(own * 0.9, others, visible).amax(1)
    return F.smooth_l1_loss(q, backup)


def run():
    torch.manual_seed(0)
    net, target = QNetwork(), QNetwork()
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    finite = []
    for step in range(4):
        loss = td_loss(net, target, sample_batch())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10.0)
        optimizer.step()
        finite.append(all(p.isfinite().all().item() for p in net.parameters()))
    return finite


def verify(finite):
    assert not finite[-1], finite


TRUTH = Truth(
    fault="the softmax over keys that are all masked is NaN; filling its output leaves the gradient NaN",
    names=("key_padding_mask",),
    values=True,
    repair=("hidden = ~visible & visible.any(1, keepdim=True)",),
)
