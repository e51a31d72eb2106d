"""PPO with an LSTM (CleanRL): the stored initial state is the buffer that the rollout then writes into."""

import torch
import torch.nn as nn
from torch.distributions import Categorical

from tests.practice.truth import Truth

ARGS = {"num_envs": 4, "num_steps": 5, "clip_coef": 0.2, "ent_coef": 0.01, "vf_coef": 0.5, "gamma": 0.99, "epochs": 2}


class CueEnv:
    """The cue of the first step is the right action of all later ones."""

    def __init__(self, n, seed):
        self.n, self.rng = n, torch.Generator().manual_seed(seed)

    def reset(self):
        self.cue, self.t = torch.randint(0, 2, (self.n,), generator=self.rng), 0
        return self.obs()

    def obs(self):
        cue = nn.functional.one_hot(self.cue, 2).float() * (self.t == 0)
        return torch.cat((cue, torch.full((self.n, 1), self.t / 4)), 1)

    def step(self, action):
        reward = (action == self.cue).float()
        self.t += 1
        done = torch.full((self.n,), float(self.t == 4))
        return (self.reset() if self.t == 4 else self.obs()), reward, done


class Agent(nn.Module):
    def __init__(self, n_obs=3, hidden=8):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh())
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.actor, self.critic = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def get_states(self, x, state, done):
        h, c = state
        keep = (1.0 - done).view(-1, 1)
        return self.lstm(self.network(x), (keep * h, keep * c))

    def get_action_and_value(self, x, state, done, action=None):
        state = self.get_states(x, state, done)
        probs = Categorical(logits=self.actor(state[0]))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.critic(state[0]).squeeze(1), state


def run():
    torch.manual_seed(0)
    env, agent = CueEnv(ARGS["num_envs"], seed=1), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    next_obs, next_done = env.reset(), torch.zeros(ARGS["num_envs"])
    lstm_state = (torch.zeros(ARGS["num_envs"], 8), torch.zeros(ARGS["num_envs"], 8))
    first_ratios = []
    for _ in range(3):
        initial_lstm_state = (lstm_state[0], lstm_state[1])  # cause
        rollout = []
        for _ in range(ARGS["num_steps"]):
            with torch.no_grad():
                action, logprob, _, value, new_state = agent.get_action_and_value(next_obs, lstm_state, next_done)
            for buffer, new in zip(lstm_state, new_state):
                buffer.copy_(new)  # also
            obs, done = next_obs, next_done
            next_obs, reward, next_done = env.step(action)
            rollout.append((obs, done, action, logprob, value, reward))
        returns, running = [], torch.zeros(ARGS["num_envs"])
        for (_, _, _, _, _, reward), after in zip(rollout[::-1], [next_done] + [r[1] for r in rollout[:0:-1]]):
            running = reward + ARGS["gamma"] * running * (1 - after)
            returns.insert(0, running)
        for epoch in range(ARGS["epochs"]):
            state, loss = initial_lstm_state, 0.0
            for (obs, done, action, logprob, value, _), ret in zip(rollout, returns):
                _, newlogprob, entropy, newvalue, state = agent.get_action_and_value(obs, state, done, action)
                ratio = (newlogprob - logprob).exp()
                if epoch == 0 and obs is rollout[0][0]:
                    first_ratios.append(ratio.detach())
                advantage = ret - value
                clipped = ratio.clamp(1 - ARGS["clip_coef"], 1 + ARGS["clip_coef"])
                pg_loss = torch.max(-advantage * ratio, -advantage * clipped).mean()
                v_loss = 0.5 * (newvalue - ret).pow(2).mean()
                loss = loss + pg_loss - ARGS["ent_coef"] * entropy.mean() + ARGS["vf_coef"] * v_loss
            optimizer.zero_grad()
            (loss / ARGS["num_steps"]).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    return first_ratios


def verify(outcome):
    # before any update the new policy is the old one: the ratio must be one
    assert not any(torch.allclose(r, torch.ones_like(r), atol=1e-5) for r in outcome), outcome


TRUTH = Truth(
    fault="initial_lstm_state is the rollout's own buffer, overwritten in place: the replay starts from the last state",
    names=("lstm_state",),
    repair=("initial_lstm_state = (lstm_state[0].clone(), lstm_state[1].clone())",),
)
