import torch
import torch.nn as nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.1)
        self.action_head = nn.Linear(16, 3)
        self.value_head = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.relu(self.dropout(self.affine(x)))
        probs = torch.softmax(self.action_head(x), dim=-1)
        value = self.value_head(x)
        return probs, value


def run():
    model = Policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    running_reward = 0.0
    for episode in range(4):
        log_probs, values, rewards = [], [], []
        state = torch.randn(4)
        for t in range(5):
            probs, value = model(state)
            m = Categorical(probs)
            action = m.sample()
            log_probs.append(m.log_prob(action))
            values.append(value)
            rewards.append(1.0 if action.item() == 0 else 0.0)
            state = torch.randn(4)
        R, returns = 0, []
        for r in rewards[::-1]:
            R = r + 0.9 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        values = torch.cat(values)
        advantage = returns - values.detach()
        policy_loss = -(torch.stack(log_probs) * advantage).sum()
        value_loss = nn.functional.smooth_l1_loss(values, returns)
        loss = policy_loss + value_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running_reward = 0.05 * sum(rewards) + 0.95 * running_reward
    return model, running_reward
