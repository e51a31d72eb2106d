"""RL with an actor on the last rank and a learner on rank 0: trajectories come by send/recv, weights go back by broadcast."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical

from tests.distributed.truth import Truth

T, OBS, ACT = 12, 4, 3


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy, self.value = nn.Linear(OBS, ACT), nn.Linear(OBS, 1)


def setup():
    global net, opt, g
    torch.manual_seed(0)
    net = ActorCritic()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(1)
    torch.manual_seed(5 + dist.get_rank())


def act():
    obs = torch.randn(T, OBS, generator=g)
    pi = Categorical(logits=net.policy(obs))
    action = pi.sample()
    reward = (action == obs[:, :ACT].argmax(1)).float()
    traj = torch.cat([obs, action[:, None].float(), pi.log_prob(action)[:, None], reward[:, None]], 1)
    dist.send(traj.detach(), dst=0)  # also


def learn():
    traj = torch.empty(T, OBS + 3)
    dist.recv(traj, src=dist.get_world_size() - 1)
    obs, action, log_prob, reward = traj[:, :OBS], traj[:, OBS].long(), traj[:, OBS + 1], traj[:, OBS + 2]
    value = net.value(obs).squeeze(1)
    adv = (reward - value).detach()
    loss = -(log_prob * adv).mean() + 0.5 * (reward - value).pow(2).mean()  # cause
    opt.zero_grad()
    loss.backward()
    opt.step()


def run():
    start = net.policy.weight.clone(), net.value.weight.clone()
    for _ in range(4):
        act() if dist.get_rank() == dist.get_world_size() - 1 else learn()
        for p in net.parameters():
            dist.broadcast(p.data, src=0)
    return [round((a - b).norm().item(), 4) for a, b in zip((net.policy.weight, net.value.weight), start)]


TRUTH = Truth(
    fault="log-probabilities received from the actor have no graph: the policy never gets a gradient",
    rule="AG301",
    names=("log_prob", "recv", "policy", "no gradient"),
    where="any",
)
