import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin0 = nn.Linear(10, 16)
        self.lin1 = nn.Linear(16, 16)
        self.lin2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.lin0(x))
        x = F.relu(self.lin1(x))
        return self.lin2(x)


def run():
    base = MLP()
    config = LoraConfig(r=2, target_modules=["lin0", "lin1"], modules_to_save=["lin2"])
    model = get_peft_model(base, config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    for epoch in range(4):
        xb, yb = torch.randn(8, 10), torch.randint(0, 3, (8,))
        outputs = model(xb)
        loss = F.cross_entropy(outputs, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
