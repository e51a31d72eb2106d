# inlined: transformers.models.vit.modeling_vit
import torch
from transformers import ViTConfig
from transformers.models.vit.modeling_vit import ViTForImageClassification


def run():
    config = ViTConfig(
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=8,
        patch_size=4,
        num_channels=1,
        num_labels=3,
    )
    model = ViTForImageClassification(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(4):
        out = model(pixel_values=torch.randn(2, 1, 8, 8), labels=torch.randint(0, 3, (2,)))
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
    return model
