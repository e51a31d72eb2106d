import torch
from torch import nn
import torch.nn.functional as F


def gram_matrix(features):
    b, c, h, w = features.shape
    f = features.view(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


def run():
    vgg = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 3, padding=1)).eval()
    for p in vgg.parameters():
        p.requires_grad_(False)
    content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
    target_content = vgg(content).detach()
    target_gram = gram_matrix(vgg(style)).detach()
    image = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([image], lr=0.05)
    for step in range(4):
        features = vgg(image)
        content_loss = F.mse_loss(features, target_content)
        style_loss = F.mse_loss(gram_matrix(features), target_gram)
        loss = content_loss + 1e3 * style_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            image.clamp_(0, 1)
    return image
