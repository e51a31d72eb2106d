import torch
from torch import nn
from torch.distributions import Normal


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        self.actor_mean = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.actor_logstd = nn.Parameter(torch.zeros(1, 2))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        action_mean = self.actor_mean(x)
        action_std = torch.exp(self.actor_logstd.expand_as(action_mean))
        probs = Normal(action_mean, action_std)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


def run():
    agent = ActorCritic()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
    clip_coef, ent_coef, vf_coef = 0.2, 0.01, 0.5
    for update in range(2):
        obs, rewards = torch.randn(8, 4), torch.randn(8)
        actions, logprobs, values = torch.zeros(8, 2), torch.zeros(8), torch.zeros(8)
        for step in range(8):
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(obs[step : step + 1])
                values[step] = value.flatten()
            actions[step] = action
            logprobs[step] = logprob
        with torch.no_grad():
            advantages = torch.zeros(8)
            lastgaelam = 0
            for t in reversed(range(7)):
                delta = rewards[t] + 0.99 * values[t + 1] - values[t]
                advantages[t] = lastgaelam = delta + 0.99 * 0.95 * lastgaelam
            returns = advantages + values
        for mb in torch.randperm(8).split(4):
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(obs[mb], actions[mb])
            logratio = newlogprob - logprobs[mb]
            ratio = logratio.exp()
            adv = (advantages[mb] - advantages[mb].mean()) / (advantages[mb].std() + 1e-8)
            pg_loss1 = -adv * ratio
            pg_loss2 = -adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
            pg_loss = torch.max(pg_loss1, pg_loss2).mean()
            v_loss = 0.5 * ((newvalue.view(-1) - returns[mb]) ** 2).mean()
            entropy_loss = entropy.mean()
            loss = pg_loss - ent_coef * entropy_loss + v_loss * vf_coef
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    return agent
