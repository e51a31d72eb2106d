"""Gradients that are None where they are read (AG302, AG305)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "the gradient of an intermediate tensor is read": case(
        "AG302",
        """
net = nn.Linear(4, 4)
h = net(torch.randn(3, 4))
h.pow(2).mean().backward()
size = h.grad
""",
        by("Call h.retain_grad() before backward()", "h.pow", "h.retain_grad()\nh.pow"),
        symptom="size is None",
    ),
    "a leaf is converted": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True)
w = w.to(torch.float64)
w.pow(2).sum().backward()
grad = w.grad
""",
        by(
            "Make w with its final dtype and device and call requires_grad_() last",
            "torch.randn(3, requires_grad=True)",
            "torch.randn(3)",
            "w = w.to(torch.float64)",
            "w = w.to(torch.float64).requires_grad_()",
        ),
        symptom="grad is None",
    ),
    "one line makes a leaf and scales it": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True) * 0.1
w.pow(2).sum().backward()
grad = w.grad
""",
        by(
            "`w = (torch.randn(3) * 0.1).requires_grad_()`",
            "torch.randn(3, requires_grad=True) * 0.1",
            "(torch.randn(3) * 0.1).requires_grad_()",
        ),
        symptom="grad is None",
    ),
    "a leaf is updated by an expression": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True)
for _ in range(2):
    loss = w.pow(2).sum()
    loss.backward()
    w = w - 0.1 * w.grad
""",
        by(
            "clear its gradient before the next backward() if nothing else does: `w.grad = None`",
            "    w = w - 0.1 * w.grad",
            "    with torch.no_grad():\n        w -= 0.1 * w.grad\n        w.grad = None",
        ),
    ),
    "an iterate stays in the graph": case(
        "AG302",
        """
x = torch.randn(3, requires_grad=True)
for _ in range(2):
    x.pow(2).sum().backward()
    x = (x - 0.1 * x.grad.sign()).clamp(-1, 1)
""",
        by(
            "Detach x in each iteration, so that it is a leaf again: `",
            "(x - 0.1 * x.grad.sign()).clamp(-1, 1)",
            "(x - 0.1 * x.grad.sign()).clamp(-1, 1).detach().requires_grad_()",
        ),
    ),
    "an optimizer is given copies of parameters": case(
        "AG302",
        """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD([p.clone() for p in net.parameters()], lr=0.1)
net(torch.randn(4, 3)).pow(2).mean().backward()
optimizer.step()
""",
        by("Give the optimizer the model's parameters themselves", "p.clone()", "p"),
    ),
    "an optimizer is given a non-leaf": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True).double()
optimizer = torch.optim.SGD([w], lr=0.1)
""",
        by(
            "Make the tensor with its final dtype and device, call requires_grad_()",
            "torch.randn(3, requires_grad=True).double()",
            "torch.randn(3).double().requires_grad_()",
        ),
        by(
            "(or nn.Parameter) last",
            "torch.randn(3, requires_grad=True).double()",
            "nn.Parameter(torch.randn(3).double())",
        ),
    ),
    "requires_grad is switched off on a result": case(
        "AG302",
        """
net = nn.Linear(4, 4)
h = net(torch.randn(3, 4))
h.requires_grad_(False)
""",
        by("Use `h.detach()` if no gradient should flow back", "h.requires_grad_(False)", "h = h.detach()"),
        by(
            "to freeze parameters, set requires_grad of the parameters",
            "h.requires_grad_(False)\n",
            "",
            "h = ",
            "net.requires_grad_(False)\nh = ",
        ),
    ),
    "a hook for leaves is registered on a result": case(
        "AG302",
        """
w = torch.randn(3, requires_grad=True)
h = w * 2
h.register_post_accumulate_grad_hook(lambda grad: None)
h.sum().backward()
""",
        by("Register the hook on the leaf that h is computed from", "h.register_post", "w.register_post"),
        by("use register_hook()", "register_post_accumulate_grad_hook", "register_hook"),
    ),
    "a gradient is read after it was cleared": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
optimizer.zero_grad()
size = net.weight.grad.norm()
""",
        by(
            "Read it between backward() and zero_grad()",
            "optimizer.zero_grad()\nsize = net.weight.grad.norm()\n",
            "size = net.weight.grad.norm()\noptimizer.zero_grad()\n",
        ),
    ),
    "a gradient is read before backward": case(
        "AG305",
        """
net = nn.Linear(4, 1)
loss = net(torch.randn(3, 4)).pow(2).mean()
size = net.weight.grad.norm()
""",
        by("Call loss.backward() before reading .grad", "size", "loss.backward()\nsize"),
    ),
}
