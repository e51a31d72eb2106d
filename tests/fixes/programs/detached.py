"""What detach(), .data or torch.autograd.grad cut off the loss (AG101)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "an activation is detached": case(
        "AG101",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
hidden = encoder(torch.randn(3, 4)).detach()
head(hidden).pow(2).mean().backward()
optimizer.step()
""",
        by("Use the tensor itself instead of .detach()", ".detach()", ""),
        by(
            "keep .detach() for logging",
            "(hidden)",
            "(kept)",
            "hidden = encoder(torch.randn(3, 4)).detach()",
            "kept = encoder(torch.randn(3, 4))\nhidden = kept.detach()",
        ),
        symptom="encoder.weight.grad is None",
    ),
    "a leaf is modified through its detached alias": case(
        "AG101",
        """
w = torch.randn(3, requires_grad=True)
gain = torch.randn(3, requires_grad=True)
optimizer = torch.optim.SGD([w, gain], lr=0.1)
w.detach().mul_(2)
y = w.detach().mul_(2)
(y * gain).sum().backward()
optimizer.step()
""",
        by("with the out-of-place form of `mul_`", "y = w.detach().mul_(2)", "y = w.mul(2)"),
        symptom="w.grad is None",
    ),
    "two losses need one tensor, one of them its graph": case(
        "AG101",
        """
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
fake = generator(torch.randn(3, 4)).detach()
of_critic.zero_grad()
critic(fake).mean().backward()
of_critic.step()
of_generator.zero_grad()
(-critic(fake).mean()).backward()
of_generator.step()
""",
        by(
            "Remove .detach() here, and write `fake.detach()` only in the loss that trains",
            "(torch.randn(3, 4)).detach()",
            "(torch.randn(3, 4))",
            "\ncritic(fake)",
            "\ncritic(fake.detach())",
        ),
        symptom="generator.weight.grad is None",
    ),
    "a gradient gathers at a detached tensor": case(
        "AG101",
        """
encoder, heads = nn.Linear(4, 4), nn.ModuleList(nn.Linear(4, 1) for _ in range(2))
optimizer = torch.optim.SGD([*encoder.parameters(), *heads.parameters()], lr=0.1)
z = encoder(torch.randn(3, 4))
d = z.detach().requires_grad_()
for head in heads:
    head(d).pow(2).mean().backward()
optimizer.step()
""",
        by("`z.backward(d.grad)`", "\noptimizer.step()", "\nz.backward(d.grad)\noptimizer.step()"),
        symptom="encoder.weight.grad is None",
    ),
    "two losses train through one detached tensor": case(
        "AG101",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(3, 4)
hidden = encoder(x).detach()
for turn in range(2):
    optimizer.zero_grad()
    head(hidden).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Recompute it before each backward()",
            "hidden = encoder(x).detach()\n",
            "",
            "    head(",
            "    hidden = encoder(x)\n    head(",
        ),
        by("Keep the .detach() copy for comparisons", "    head(hidden)", "    now = encoder(x)\n    head(now)"),
        symptom="encoder.weight.grad is None",
    ),
    "the terms of a straight-through estimator are swapped": case(
        "AG101",
        """
encoder = nn.Linear(4, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
soft = encoder(torch.randn(3, 4)).sigmoid()
codes = nn.Parameter(torch.eye(4))
hard = codes[torch.cdist(soft, codes).argmin(dim=1)]
quantized = hard + (soft - hard).detach()
quantized.pow(2).sum().backward()
optimizer.step()
""",
        by(
            "Detach the difference: `soft + (hard - soft).detach()`",
            "hard + (soft - hard).detach()",
            "soft + (hard - soft).detach()",
        ),
        symptom="encoder.weight.grad is None",
    ),
    "the wrong term of a straight-through estimator is detached": case(
        "AG101",
        """
encoder = nn.Linear(4, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
soft = encoder(torch.randn(3, 4)).sigmoid()
hard = soft.round()
out = hard.detach() - soft + soft.detach()
out.sum().backward()
optimizer.step()
""",
        by("`hard - soft.detach() + soft`", "hard.detach() - soft + soft.detach()", "hard - soft.detach() + soft"),
        symptom="not torch.allclose(encoder.bias.grad, (soft * (1 - soft)).sum(0))",
    ),
    "a gradient is taken without create_graph": case(
        "AG101",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4, requires_grad=True)
(slope,) = torch.autograd.grad(net(x).sum(), x)
loss = net(x).pow(2).mean() + slope.pow(2).sum()
loss.backward()
plain = net[0].weight.grad.clone()
optimizer.step()
""",
        by("torch.autograd.grad(..., create_graph=True)", ".sum(), x)", ".sum(), x, create_graph=True)"),
        symptom="not loss.grad_fn.next_functions[1][0]",
    ),
    "a module's weight is given computed values through .data": case(
        "AG101",
        """
hyper, layer = nn.Linear(4, 16), nn.Linear(4, 4, bias=False)
optimizer = torch.optim.SGD(hyper.parameters(), lr=0.1)
x = torch.randn(3, 4)
made = hyper(torch.randn(4)).view(4, 4)
layer.weight.data = made
out = layer(x)
out.pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Use the computed tensor itself in the forward",
            "layer.weight.data = made\n",
            "",
            "layer(x)",
            "F.linear(x, made)",
        ),
        by(
            "torch.func.functional_call(module, {name: tensor}, args)",
            "layer.weight.data = made\n",
            "",
            "layer(x)",
            'torch.func.functional_call(layer, {"weight": made}, (x,))',
        ),
        symptom="hyper.weight.grad is None",
    ),
    "a state is detached in each step of a recurrence": case(
        "AG101",
        """
cell, head = nn.GRUCell(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
first = torch.randn(3, 4, requires_grad=True)
h = torch.zeros(3, 4)
for t in range(6):
    x = first if t == 4 else torch.randn(3, 4)
    h = cell(x, h.detach())
head(h).pow(2).mean().backward()
optimizer.step()
""",
        by("Use the state itself instead of .detach()", "h.detach()", "h"),
        by(
            "detach the state only after each backward()",
            "h.detach()",
            "h",
            ".backward()",
            ".backward()\nh = h.detach()",
        ),
        by("every k iterations", "h.detach()", "h.detach() if t % 3 == 0 else h"),
        symptom="first.grad is None",
    ),
}
