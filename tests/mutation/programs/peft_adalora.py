# inlined: peft.tuners.adalora.layer
# inlined: peft.tuners.adalora.model
import torch
import torch.nn.functional as F
from peft import AdaLoraConfig
from peft.tuners.adalora.model import AdaLoraModel
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = {"model_type": "custom"}
        self.query = nn.Linear(6, 8)
        self.value = nn.Linear(8, 8)
        self.classifier = nn.Linear(8, 3)

    def forward(self, x):
        hidden = torch.tanh(self.query(x))
        hidden = hidden + torch.tanh(self.value(hidden))
        return self.classifier(hidden)


def run():
    config = AdaLoraConfig(
        init_r=3, target_r=2, tinit=1, tfinal=1, deltaT=1, total_step=6, target_modules=["query", "value"]
    )
    model = AdaLoraModel(Net(), {"default": config}, "default")
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for global_step in range(6):
        inputs, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
        logits = model.model(inputs)
        loss = F.cross_entropy(logits, labels)
        orthogonal = 0.0
        for name, p in model.named_parameters():
            if "lora_A" in name or "lora_B" in name:
                gram = p @ p.T if "lora_A" in name else p.T @ p
                orthogonal = orthogonal + torch.norm(gram - torch.eye(gram.shape[0]))
        loss = loss + 0.1 * orthogonal
        loss.backward()
        optimizer.step()
        model.update_and_allocate(global_step)
        optimizer.zero_grad()
    return model
