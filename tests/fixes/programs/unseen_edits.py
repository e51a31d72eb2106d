"""Edits that no version counter shows (AG202)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "an activation is modified through .data": case(
        "AG202",
        """
w = torch.ones(3, requires_grad=True)
y = w.exp()
y.data.add_(1)
y.sum().backward()
""",
        by("Use the out-of-place `add` of `y` itself", "y.data.add_(1)", "y = y.add(1)"),
        by("modify `y.clone()`", "y.data.add_", "y = y.clone()\ny.data.add_"),
        symptom="not torch.allclose(w.grad, w.exp())",
    ),
    "a list of results is modified through .data": case(
        "AG202",
        """
w = torch.ones(3, requires_grad=True)
ys = [w.exp(), w.sigmoid()]
torch._foreach_add_([y.data for y in ys], 1)
(ys[0] + ys[1]).sum().backward()
""",
        by("Modify a copy: `[y.data.clone() for y in ys]`", "[y.data for y in ys]", "[y.data.clone() for y in ys]"),
        by(
            "do it after backward()",
            "torch._foreach_add_([y.data for y in ys], 1)\n",
            "",
            ".backward()\n",
            ".backward()\ntorch._foreach_add_([y.data for y in ys], 1)\n",
        ),
        symptom="not torch.allclose(w.grad, w.exp() + w.sigmoid() * (1 - w.sigmoid()))",
    ),
    "parameters are modified through .data before backward": case(
        "AG202",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
loss = net(x).pow(2).mean()
old = net[1].weight.detach().clone()
for p in net.parameters():
    p.data.clamp_(-0.1, 0.1)
new = net[1].weight.detach().clone()
loss.backward()
optimizer.step()
""",
        by(
            "Modify parameters only after backward() (and after optimizer.step())",
            "for p in net.parameters():\n    p.data.clamp_(-0.1, 0.1)\n",
            "",
            "optimizer.step()\n",
            "optimizer.step()\nfor p in net.parameters():\n    p.data.clamp_(-0.1, 0.1)\n",
        ),
        symptom="not torch.equal(old, new)",
    ),
    "a batch norm runs twice before backward": case(
        "AG202",
        """
norm = nn.BatchNorm1d(4)
a, b = torch.randn(8, 4), torch.randn(8, 4)
norm.eval()
w = torch.randn(8, 4, requires_grad=True)
first = norm(w)
norm.train()
second = norm(b)
(first.sum() + second.sum()).backward()
""",
        by(
            "Run backward() before the next forward in training mode",
            "first = norm(w)\n",
            "first = norm(w)\nfirst.sum().backward()\n",
            "(first.sum() + second.sum())",
            "second.sum()",
        ),
        by("put the norm layer into eval mode for that forward", "norm.train()\n", ""),
        symptom="not torch.allclose(w.grad, torch.full((8, 4), (1 + 1e-5) ** -0.5), atol=1e-5)",
    ),
    "a NumPy array of a batch is refilled": case(
        "AG202",
        """
net = nn.Linear(4, 1)
array = np.ones((3, 4), dtype=np.float32)
x = torch.from_numpy(array)
loss = net(x).sum()
array[:] = 2.0
loss.backward()
""",
        by("Copy the array: `torch.tensor(array)`", "torch.from_numpy(array)", "torch.tensor(array)"),
        by("fill a new array for each batch", "array[:] = 2.0", "array = np.full((3, 4), 2.0, dtype=np.float32)"),
        symptom="not torch.equal(net.weight.grad, torch.full((1, 4), 3.0))",
    ),
    "an activation is modified through its array": case(
        "AG202",
        """
w = torch.ones(3, requires_grad=True)
y = w.exp()
array = y.detach().numpy()
array *= 2
y.sum().backward()
""",
        by("Work on a copy: `y.detach().numpy().copy()`", "y.detach().numpy()", "y.detach().numpy().copy()"),
        by("an out-of-place NumPy call", "array *= 2", "array = array * 2"),
        symptom="not torch.allclose(w.grad, w.exp())",
    ),
    "a tensor is kept on ctx": case(
        "AG202",
        """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None
w = torch.ones(3, requires_grad=True)
factor = torch.full((3,), 2.0)
y = Times.apply(w, factor)
factor.mul_(5)
y.sum().backward()
""",
        by(
            "Save it with `ctx.save_for_backward(...)` instead of `ctx.factor = ...`, so that autograd checks it, and modify factor only after backward()",
            "ctx.factor = factor",
            "ctx.save_for_backward(factor)",
            "grad_output * ctx.factor",
            "grad_output * ctx.saved_tensors[0]",
            "factor.mul_(5)\n",
            "",
            ".backward()\n",
            ".backward()\nfactor.mul_(5)\n",
        ),
        by(
            "a `.clone()` of it",
            "ctx.factor = factor",
            "ctx.save_for_backward(factor)",
            "grad_output * ctx.factor",
            "grad_output * ctx.saved_tensors[0]",
            "factor.mul_(5)\n",
            "factor = factor.clone()\nfactor.mul_(5)\n",
        ),
        symptom="not torch.equal(w.grad, torch.full((3,), 2.0))",
    ),
    "weights are modified and put back by arithmetic": case(
        "AG202",
        """
net = nn.Linear(4, 1)
noise = 1e6 * torch.randn(1, 4)
start = net.weight.detach().clone()
w = torch.ones(3, 4, requires_grad=True)
loss = net(w).sum()
net.weight.data.add_(noise)
net.weight.data.sub_(noise)
loss.backward()
""",
        by(
            "To be sure, keep a copy (`.clone()`) of net.weight and restore it with `copy_()`",
            "net.weight.data.add_",
            "kept = net.weight.detach().clone()\nnet.weight.data.add_",
            "net.weight.data.sub_(noise)",
            "net.weight.data.copy_(kept)",
        ),
        symptom="not torch.equal(start, net.weight)",
    ),
}
