import torch
from torch import nn
import torch.nn.functional as F
from transformers import GPT2Config, GPT2Model


class RewardModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = GPT2Model(GPT2Config(vocab_size=32, n_embd=16, n_layer=1, n_head=2, n_positions=16))
        self.v_head = nn.Linear(16, 1, bias=False)

    def forward(self, input_ids):
        hidden = self.transformer(input_ids=input_ids, use_cache=False).last_hidden_state
        rewards = self.v_head(hidden).squeeze(-1)
        return rewards[:, -1]


def run():
    model = RewardModel()
    for p in model.transformer.wte.parameters():
        p.requires_grad = False
    optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
    accuracies = []
    for step in range(4):
        chosen, rejected = torch.randint(0, 32, (3, 6)), torch.randint(0, 32, (3, 6))
        chosen_reward = model(chosen)
        rejected_reward = model(rejected)
        loss = -F.logsigmoid(chosen_reward - rejected_reward).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracies.append((chosen_reward > rejected_reward).float().mean().item())
    return model, accuracies
