"""Vision: adaptive gradient clipping computes the clipped gradients and gives them to a local name, never back to the parameters."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def unitwise_norm(x, norm_type=2.0):
    if x.ndim <= 1:
        return x.norm(norm_type)
    return x.norm(norm_type, dim=tuple(range(1, x.ndim)), keepdim=True)


def adaptive_clip_grad(parameters, clip_factor=0.01, eps=1e-3, norm_type=2.0):
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    for p in parameters:
        if p.grad is None:
            continue
        p_data = p.detach()
        g_data = p.grad.detach()
        max_norm = unitwise_norm(p_data, norm_type=norm_type).clamp_(min=eps).mul_(clip_factor)
        grad_norm = unitwise_norm(g_data, norm_type=norm_type)
        clipped_grad = g_data * (max_norm / grad_norm.clamp(min=1e-6))
        g_data = torch.where(grad_norm < max_norm, g_data, clipped_grad)  # cause


def dispatch_clip_grad(parameters, value, mode="norm"):
    if mode == "norm":
        torch.nn.utils.clip_grad_norm_(parameters, value)
    elif mode == "value":
        torch.nn.utils.clip_grad_value_(parameters, value)
    elif mode == "agc":
        adaptive_clip_grad(parameters, value)
    else:
        raise AssertionError(f"Unknown clip mode ({mode}).")


def model_parameters(model, exclude_head=False):
    if exclude_head:
        return [p for p in model.parameters()][:-2]
    return model.parameters()


class ScaledStdConv2d(nn.Conv2d):
    def __init__(self, *args, gamma=1.0, eps=1e-6, **kwargs):
        super().__init__(*args, **kwargs)
        self.gain = nn.Parameter(torch.full((self.out_channels, 1, 1, 1), gamma))
        self.scale = self.weight[0].numel() ** -0.5
        self.eps = eps

    def forward(self, x):
        w = F.batch_norm(
            self.weight.reshape(1, self.out_channels, -1),
            None,
            None,
            weight=(self.gain * self.scale).view(-1),
            training=True,
            momentum=0.0,
            eps=self.eps,
        ).reshape_as(self.weight)
        return F.conv2d(x, w, self.bias, self.stride, self.padding)


class NormFreeBlock(nn.Module):
    def __init__(self, channels, alpha=0.2, beta=1.0):
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.conv1 = ScaledStdConv2d(channels, channels, 3, padding=1)
        self.conv2 = ScaledStdConv2d(channels, channels, 3, padding=1)
        self.skipinit_gain = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        out = self.conv1(F.gelu(x) * 1.7 * self.beta)
        out = self.conv2(F.gelu(out) * 1.7)
        return out.mul_(self.skipinit_gain).mul_(self.alpha) + x


class NFNet(nn.Module):
    def __init__(self, channels=8, classes=4):
        super().__init__()
        self.stem = ScaledStdConv2d(3, channels, 3, stride=2, padding=1)
        self.stages = nn.Sequential(NormFreeBlock(channels), NormFreeBlock(channels))
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


def run(clip_grad=0.01, clip_mode="agc"):
    torch.manual_seed(42)
    model = NFNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=2e-5)
    ratios = []
    for _ in range(3):
        input, target = torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))
        output = model(input)
        loss = 10 * F.cross_entropy(output, target)
        optimizer.zero_grad()
        loss.backward()
        dispatch_clip_grad(model_parameters(model, exclude_head="agc" in clip_mode), value=clip_grad, mode=clip_mode)
        w = model.stem.weight
        ratios.append(float((unitwise_norm(w.grad) / unitwise_norm(w.detach())).max()))
        optimizer.step()
    return ratios


def verify(ratios):
    assert max(ratios) > 0.02


TRUTH = Truth(
    fault="adaptive_clip_grad never writes the clipped gradients back",
    names=("adaptive_clip_grad",),
    repair=("g_data.copy_(torch.where(grad_norm < max_norm, g_data, clipped_grad))",),
)
