import torch
from torch import nn
import torch.nn.functional as F


class BinarizeSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.sign()

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input.abs() > 1] = 0
        return grad_input


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambda_):
        ctx.lambda_ = lambda_
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.lambda_ * grad_output, None


class BinaryLinear(nn.Linear):
    def forward(self, x):
        weight = BinarizeSTE.apply(self.weight)
        return F.linear(x, weight, self.bias)


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
        self.label = BinaryLinear(12, 3)
        self.domain = nn.Linear(12, 2)

    def forward(self, x, alpha):
        f = self.features(x)
        reverse = GradientReversal.apply(f, alpha)
        return self.label(f), self.domain(reverse)


def run():
    model = DANN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(4):
        x, y, d = torch.randn(8, 6), torch.randint(0, 3, (8,)), torch.randint(0, 2, (8,))
        class_logits, domain_logits = model(x, 0.5)
        loss = F.cross_entropy(class_logits, y) + F.cross_entropy(domain_logits, d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
