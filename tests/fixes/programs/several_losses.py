"""Gradients that one loss leaves for another, and gradients that do not fit (AG305, AG306)."""

from __future__ import annotations

from tests.fixes.cases import by, case

ACTOR = """
actor = nn.Linear(4, 1)
log_alpha = torch.zeros((), requires_grad=True)
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
alpha_opt = torch.optim.SGD([log_alpha], lr=0.1)
x = torch.randn(8, 4)
for _ in range(2):
    entropy = actor(x).pow(2).mean()
    actor_opt.zero_grad()
    (log_alpha.exp().detach() * entropy).backward(retain_graph=True)
    own = actor.weight.grad.clone()
    alpha_opt.zero_grad()
"""

CASES = {
    "the gradients of two tasks are read without clearing": case(
        "AG305",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.randn(8, 4))
losses = [out[:, 0].pow(2).mean(), (out[:, 1] - 1).pow(2).mean()]
read = []
for loss in losses:
    loss.backward(retain_graph=True)
    read.append(net.weight.grad.clone())
net.weight.grad = (read[0] + read[1]) / 2
optimizer.step()
""",
        by(
            "Call `optimizer.zero_grad()` before the backward() of each loss",
            "    loss.backward",
            "    optimizer.zero_grad()\n    loss.backward",
        ),
        by(
            "compute each loss's gradients with torch.autograd.grad(loss, parameters, retain_graph=True)",
            "    loss.backward(retain_graph=True)\n    read.append(net.weight.grad.clone())",
            "    read.append(torch.autograd.grad(loss, net.weight, retain_graph=True)[0])",
        ),
        symptom="read[1][0].abs().sum() > 0",
    ),
    "the loss of a temperature goes on to the actor": case(
        "AG305",
        ACTOR
        + """    gap = entropy + 1.0
    (log_alpha.exp() * gap).backward()
    alpha_opt.step()
    left = (actor.weight.grad - own).abs().max()
    actor_opt.step()
""",
        by("detach() the factor: `gap.detach()`", "* gap)", "* gap.detach())"),
        symptom="left > 1e-6",
    ),
    "the loss of a temperature goes on to the actor, in one expression": case(
        "AG305",
        ACTOR
        + """    (log_alpha.exp() * (entropy + 1.0)).backward()
    alpha_opt.step()
    left = (actor.weight.grad - own).abs().max()
    actor_opt.step()
""",
        by(
            "detach() the factor where it goes into the loss of log_alpha",
            "(entropy + 1.0)",
            "(entropy + 1.0).detach()",
        ),
        symptom="left > 1e-6",
    ),
    "a gradient in half precision is assigned to a float32 copy": case(
        "AG306",
        """
net = nn.Linear(4, 2).bfloat16()
copies = [p.detach().float().requires_grad_() for p in net.parameters()]
optimizer = torch.optim.SGD(copies, lr=0.1)
net(torch.ones(3, 4).bfloat16()).mean().backward()
for q, p in zip(copies, net.parameters(), strict=True):
    q.grad = p.grad
optimizer.step()
""",
        by("Give it the dtype, the device and the shape of the parameter", "= p.grad\n", "= p.grad.to(q).view_as(q)\n"),
    ),
}
