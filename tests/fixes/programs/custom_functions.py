"""Custom autograd.Functions (AG108)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "backward leaves grad_output out": case(
        "AG108",
        """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x
x = torch.randn(3, requires_grad=True)
(3 * Square.apply(x)).sum().backward()
""",
        by("`return grad_output * ...` in Square.backward", "return 2 * x", "return grad_output * 2 * x"),
        symptom="not torch.allclose(x.grad, 6 * x)",
    ),
    "forward reads a parameter of the module": case(
        "AG108",
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, scale)
        return x * scale
    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * s
scale = nn.Parameter(torch.ones(4))
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
Scale.apply(net(torch.randn(3, 4))).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Pass scale to Scale.apply as an argument, and return its gradient from Scale.backward",
            "def forward(ctx, x):",
            "def forward(ctx, x, scale):",
            "return grad_output * s",
            "return grad_output * s, (grad_output * x).sum(0)",
            "Scale.apply(net(torch.randn(3, 4)))",
            "Scale.apply(net(torch.randn(3, 4)), scale)",
        ),
        symptom="scale.grad is None",
    ),
    "backward returns two gradients in each other's place": case(
        "AG108",
        """
class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gate):
        ctx.save_for_backward(x, gate)
        return x * gate.sigmoid()
    @staticmethod
    def backward(ctx, grad_output):
        x, gate = ctx.saved_tensors
        s = gate.sigmoid()
        return grad_output * x * s * (1 - s), grad_output * s
x = torch.randn(3, requires_grad=True)
gate = torch.randn(3, requires_grad=True)
Gate.apply(x, gate).sum().backward()
""",
        by(
            "in the order of the arguments of Gate.forward",
            "return grad_output * x * s * (1 - s), grad_output * s",
            "return grad_output * s, grad_output * x * s * (1 - s)",
        ),
        symptom="not torch.allclose(x.grad, gate.sigmoid())",
    ),
    "backward leaves out the gradient of the second output": case(
        "AG108",
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x, x.pow(2).sum()
    @staticmethod
    def backward(ctx, grad, grad_penalty):
        (x,) = ctx.saved_tensors
        return 2 * grad
x = torch.ones(3, requires_grad=True)
y, penalty = Scale.apply(x)
(y.sum() + penalty).backward()
""",
        by(
            "Add what the gradient of output 2 contributes to the gradients that Scale.backward returns",
            "return 2 * grad",
            "return 2 * grad + 2 * grad_penalty * x",
        ),
        symptom="not torch.allclose(x.grad, 2 + 2 * x)",
    ),
    "backward reads what the last call kept on the class": case(
        "AG108",
        """
class Square(torch.autograd.Function):
    x = None
    @staticmethod
    def forward(ctx, x):
        Square.x = x
        return x * x
    @staticmethod
    def backward(ctx, grad):
        x = Square.x
        return 2 * grad * x
x = torch.full((3,), 2.0, requires_grad=True)
Square.apply(2 * Square.apply(1 * x)).sum().backward()
""",
        by(
            "`ctx.save_for_backward(...)` in Square.forward, and `ctx.saved_tensors` in Square.backward",
            "Square.x = x",
            "ctx.save_for_backward(x)",
            "x = Square.x",
            "(x,) = ctx.saved_tensors",
        ),
        symptom="not torch.allclose(x.grad, 16 * x.detach() ** 3)",
    ),
    "backward modifies grad_output": case(
        "AG108",
        """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(2)
x = torch.randn(3, requires_grad=True)
y = torch.randn(3, requires_grad=True)
z = y * 2
((Double.apply(x) + z) * torch.ones(3)).sum().backward()
""",
        by("Compute a new tensor in Double.backward", "mul_(2)", "mul(2)"),
        by("work on a copy (`grad_output.clone()`)", "grad_output.mul_(2)", "grad_output.clone().mul_(2)"),
        symptom="not torch.equal(y.grad, torch.full((3,), 2.0))",
    ),
    "forward modifies an input that is read again": case(
        "AG108",
        """
class Halve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(0.5)
        return x.clone()
    @staticmethod
    def backward(ctx, grad_output):
        return 0.5 * grad_output
w = torch.ones(3, requires_grad=True)
h = 2 * w
loss = (Halve.apply(h) + h).sum()
loss.backward()
""",
        by(
            "Compute a new tensor in Halve.forward",
            "x.mul_(0.5)\n        return x.clone()",
            "return x.mul(0.5)",
        ),
        by(
            "call `ctx.mark_dirty` with the input and return the input itself",
            "return x.clone()",
            "ctx.mark_dirty(x)\n        return x",
        ),
        symptom="not torch.allclose((w.grad * w).sum(), loss)",
    ),
    "forward saves an input that it has modified": case(
        "AG108",
        """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        x.mul_(w)
        return x.clone()
    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, grad_output * x
v = torch.ones(3, requires_grad=True)
w = torch.full((3,), 0.5, requires_grad=True)
loss = Times.apply(2 * v, w).sum()
loss.backward()
""",
        by(
            "Modify a copy (`.clone()`) in Times.forward, and save the unmodified input",
            "x.mul_(w)\n        return x.clone()",
            "x = x.clone().mul_(w)\n        return x",
        ),
        symptom="not torch.allclose((w.grad * w).sum(), loss)",
    ),
    "backward returns None for a weight": case(
        "AG108",
        """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w
    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, None
net = nn.Linear(4, 4)
w = nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([*net.parameters(), w], lr=0.1)
Times.apply(net(torch.randn(3, 4)), w).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Return one gradient for each input of Times.forward",
            "grad_output * w, None",
            "grad_output * w, (grad_output * x).sum(0)",
        ),
        symptom="w.grad is None",
    ),
    "backward returns too many gradients": case(
        "AG108",
        """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output, 2 * grad_output
Twice.apply(torch.randn(3, requires_grad=True)).sum().backward()
""",
        by(
            "Return exactly one gradient for each argument of Twice.forward",
            "2 * grad_output, 2 * grad_output",
            "2 * grad_output",
        ),
    ),
    "backward returns a gradient of another shape": case(
        "AG108",
        """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, grad_output):
        return (2 * grad_output)[:2]
Twice.apply(torch.randn(3, requires_grad=True)).sum().backward()
""",
        by("each with the shape of that argument", "(2 * grad_output)[:2]", "2 * grad_output"),
    ),
    "backward is differentiated that is marked once": case(
        "AG108",
        """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x ** 2
x = torch.randn(3, requires_grad=True)
w = torch.randn(3, requires_grad=True)
y = Cube.apply(x)
energy = (w * w * x).sum() + (w * y).sum()
(slope,) = torch.autograd.grad(energy, x, create_graph=True)
slope.sum().backward()
""",
        by("remove @once_differentiable", "    @torch.autograd.function.once_differentiable\n", ""),
        by(
            "leave Cube out of the part that create_graph=True differentiates",
            "(w * w * x).sum() + (w * y).sum()",
            "(w * w * x).sum()",
        ),
    ),
    "a Function with ctx in forward meets a transform": case(
        "AG108",
        """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
out = torch.vmap(Twice.apply)(torch.randn(3, 4))
""",
        by(
            "Define `Twice.forward` without ctx",
            "def forward(ctx, x):\n        ctx.save_for_backward(x)\n",
            "def forward(x):\n",
            "class Twice(torch.autograd.Function):\n",
            "class Twice(torch.autograd.Function):\n    generate_vmap_rule = True\n    @staticmethod\n    def setup_context(ctx, inputs, output):\n        ctx.save_for_backward(*inputs)\n",
        ),
    ),
    "backward returns zeros": case(
        "AG108",
        """
class Hold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(3, 4)
out = net(x)
out.retain_grad()
held = Hold.apply(out)
(head(held).pow(2).mean() + net(x).pow(2).mean()).backward()
optimizer.step()
""",
        by(
            "Return the gradient of Hold.forward from Hold.backward", "torch.zeros_like(grad_output)", "2 * grad_output"
        ),
        by("To block the gradient, use detach()", "Hold.apply(out)", "2 * out.detach()"),
        symptom="out.grad is not None and not out.grad.any()",
        values=True,
    ),
}
