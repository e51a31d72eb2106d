"""MuZero: the halved gradient of the hidden state is computed and thrown away."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CONFIG = {"num_unroll_steps": 3, "action_space": 4, "encoding": 12, "batch_size": 8, "value_loss_weight": 0.25}


def mlp(inp, hidden, out):
    return nn.Sequential(nn.Linear(inp, hidden), nn.ELU(), nn.Linear(hidden, out))


class MuZeroFullyConnectedNetwork(nn.Module):
    def __init__(self, observation=6, encoding=12, actions=4):
        super().__init__()
        self.actions = actions
        self.representation_network = mlp(observation, 16, encoding)
        self.dynamics_encoded_state_network = mlp(encoding + actions, 16, encoding)
        self.dynamics_reward_network = mlp(encoding, 16, 1)
        self.prediction_policy_network = mlp(encoding, 16, actions)
        self.prediction_value_network = mlp(encoding, 16, 1)

    @staticmethod
    def normalise(state):
        low, high = state.min(1, keepdim=True)[0], state.max(1, keepdim=True)[0]
        return (state - low) / (high - low + 1e-5)

    def initial_inference(self, observation):
        state = self.normalise(self.representation_network(observation))
        return self.prediction_value_network(state), self.prediction_policy_network(state), state

    def recurrent_inference(self, state, action):
        x = torch.cat((state, F.one_hot(action, self.actions).float()), 1)
        state = self.normalise(self.dynamics_encoded_state_network(x))
        value, policy = self.prediction_value_network(state), self.prediction_policy_network(state)
        return value, self.dynamics_reward_network(state), policy, state


def scale_gradient(tensor, scale):
    """The identity, with a scaled gradient."""
    return tensor * scale + tensor.detach() * (1 - scale)


def update_weights(model, optimizer, batch, tape):
    observation, actions, t_value, t_reward, t_policy = batch
    value, policy, state = model.initial_inference(observation)
    value_loss = F.mse_loss(value.squeeze(1), t_value[:, 0])
    policy_loss = F.cross_entropy(policy, t_policy[:, 0])
    reward_loss = 0.0
    for k in range(CONFIG["num_unroll_steps"]):
        state.register_hook(lambda g, k=k: tape.setdefault(k, []).append(g.norm().item()))
        value, reward, policy, next_state = model.recurrent_inference(state, actions[:, k])
        next_state.register_hook(lambda g, k=k: tape.setdefault(f"out{k}", []).append(g.norm().item()))
        scale_gradient(next_state, 0.5)  # cause
        value_loss = value_loss + F.mse_loss(value.squeeze(1), t_value[:, k + 1])
        reward_loss = reward_loss + F.mse_loss(reward.squeeze(1), t_reward[:, k])
        policy_loss = policy_loss + F.cross_entropy(policy, t_policy[:, k + 1])
        state = next_state
    loss = value_loss * CONFIG["value_loss_weight"] + reward_loss + policy_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def run():
    torch.manual_seed(0)
    model = MuZeroFullyConnectedNetwork()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-4)
    n, k, tape = CONFIG["batch_size"], CONFIG["num_unroll_steps"], {}
    for _ in range(3):
        batch = (
            torch.randn(n, 6),
            torch.randint(0, 4, (n, k)),
            torch.randn(n, k + 1),
            torch.randn(n, k),
            torch.randint(0, 4, (n, k + 1)),
        )
        update_weights(model, optimizer, batch, tape)
    # the state that one step gives is the state that the next one takes
    return tape[1], tape["out0"]


def verify(outcome):
    taken, given = outcome
    assert taken == given


TRUTH = Truth(
    fault="the result of scale_gradient() is dropped: the recurrent gradient is not halved",
    names=("scale_gradient",),
    repair=("next_state = scale_gradient(next_state, 0.5)",),
)
