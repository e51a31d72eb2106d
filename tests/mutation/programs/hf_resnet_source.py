# inlined: transformers.models.resnet.modeling_resnet
import torch
from transformers import ResNetConfig
from transformers.models.resnet.modeling_resnet import ResNetForImageClassification


def run():
    config = ResNetConfig(
        num_channels=1, embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic", num_labels=3
    )
    model = ResNetForImageClassification(config).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(4):
        out = model(pixel_values=torch.randn(2, 1, 16, 16), labels=torch.randint(0, 3, (2,)))
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
    return model
