"""Gradients that hooks and assignments change (AG306)."""

from __future__ import annotations

from tests.fixes.cases import by, case

NET = """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
"""

CASES = {
    "one gradient is the .grad of two": case(
        "AG306",
        """
first, second = nn.Linear(4, 2, bias=False), nn.Linear(4, 2, bias=False)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
first(torch.ones(3, 4)).mean().backward()
second.weight.grad = first.weight.grad
optimizer.step()
""",
        by("`.grad.clone()`", "= first.weight.grad", "= first.weight.grad.clone()"),
        symptom="second.weight.grad is first.weight.grad",
    ),
    "a gradient is replaced by noise": case(
        "AG306",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    for p in net.parameters():
        p.grad = torch.randn_like(p)
    optimizer.step()
""",
        by("Drop the assignment", "    for p in net.parameters():\n        p.grad = torch.randn_like(p)\n", ""),
        by(
            "compute the new gradient from the one that backward left",
            "torch.randn_like(p)",
            "p.grad + 0.01 * torch.randn_like(p)",
        ),
        symptom="not torch.allclose(net.weight.grad, torch.ones(1, 4), atol=0.1)",
    ),
    "a hook comes after backward()": case(
        "AG306",
        """
x = torch.ones(3, requires_grad=True)
y = 2 * x
y.sum().backward()
y.register_hook(lambda grad: 0.5 * grad)
""",
        by(
            "Register the hook on y before backward()",
            "y.sum().backward()\ny.register_hook(lambda grad: 0.5 * grad)\n",
            "y.register_hook(lambda grad: 0.5 * grad)\ny.sum().backward()\n",
        ),
        symptom="not torch.equal(x.grad, torch.ones(3))",
    ),
    "a hook is on a slice of a parameter": case(
        "AG306",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.weight.detach().clone()
handle = net.weight[:1].register_hook(lambda grad: grad * torch.tensor([[0.0], [1.0]]))
net(torch.ones(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by("Register the hook on net.weight itself", "net.weight[:1].register_hook", "net.weight.register_hook"),
        symptom="not torch.equal(net.weight[0], before[0])",
    ),
    "a hook returns the norm of the gradient": case(
        "AG306",
        """
net = nn.Linear(4, 1)
net.weight.register_hook(lambda grad: grad.norm())
net(torch.ones(3, 4)).mean().backward()
""",
        by("Return a tensor that is computed from the gradient", "grad.norm()", "grad / grad.norm()"),
        by("None to leave the gradient as it is", "grad: grad.norm()", "grad: print(grad.norm())"),
    ),
    "a module hook returns one tensor": case(
        "AG306",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
net[1].register_full_backward_hook(lambda module, given, got: given[0].sum())
net(torch.ones(3, 4)).mean().backward()
""",
        by("Return a tuple with a gradient for each one", "given[0].sum()", "(2 * given[0],)"),
        by("None to leave them as they are", "given[0].sum()", "print(given[0].sum())"),
    ),
    "a hook behind the accumulation returns the gradient": case(
        "AG306",
        """
net = nn.Linear(4, 1)
net.weight.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5))
net(torch.ones(3, 4)).mean().backward()
""",
        by(
            "Return None from the hook",
            "p.grad.mul_(0.5)",
            "p.grad.mul_(0.5) and None",
            "4, 1)",
            "1, 1)",
            "3, 4",
            "3, 1",
        ),
    ),
    "a hook is on the original of a copy": case(
        "AG306",
        """
import copy
template = nn.Linear(4, 1)
template.weight.register_hook(torch.zeros_like)
net = copy.deepcopy(template)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Register the hook on the parameter of each copy",
            "net = copy.deepcopy(template)\n",
            "net = copy.deepcopy(template)\nnet.weight.register_hook(lambda grad: 0.5 * grad)\n",
        ),
        symptom="torch.equal(net.weight.grad, torch.ones(1, 4))",
    ),
    "a parameter gets the gradient of the next one": case(
        "AG306",
        """
net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 4, bias=False))
third = nn.Linear(4, 4, bias=False)
first, second = net.parameters()
weights, learning = [first, second, third.weight], [second, third.weight]
optimizer = torch.optim.SGD(weights, lr=0.1)
start = first.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    gradients = torch.autograd.grad(third(net(torch.ones(3, 4))).pow(2).mean(), learning)
    for p, gradient in zip(weights, gradients):
        p.grad = gradient
    optimizer.step()
""",
        by(
            "give `torch.autograd.grad()` and `zip()` the same list",
            "zip(weights, gradients)",
            "zip(learning, gradients)",
            "weights, lr",
            "learning, lr",
        ),
        symptom="not torch.equal(first, start)",
    ),
    "a forward hook is on a module that is not called": case(
        "AG306",
        """
net = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1))
activity = []
net[0].register_forward_hook(lambda module, args, output: activity.append(output.abs().mean()))
hidden = net[0].forward(torch.ones(3, 4))
(net[1](hidden).mean() + sum(activity)).backward()
""",
        by("Call 0 itself", "net[0].forward(", "net[0]("),
        symptom="not activity",
    ),
    "gradients are dropped at every step": case(
        "AG306",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
x = torch.ones(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    head(net(x)).mean().backward()
    for p in net.parameters():
        p.grad = None
    optimizer.step()
""",
        by("Remove that line if they are to learn", "    for p in net.parameters():\n        p.grad = None\n", ""),
        by(
            "set requires_grad to False",
            "    for p in net.parameters():\n        p.grad = None\n",
            "",
            "x = torch.ones",
            "for p in net.parameters():\n    p.requires_grad = False\nx = torch.ones",
        ),
        symptom="net.weight.requires_grad and net.weight.grad is None",
    ),
    "a hook is registered again and again": case(
        "AG306",
        NET
        + """
for _ in range(3):
    optimizer.zero_grad()
    net.weight.register_hook(lambda grad: grad * 0.5)
    net(x).mean().backward()
    optimizer.step()
""",
        by(
            "Register it once, before the loop",
            "    net.weight.register_hook(lambda grad: grad * 0.5)\n",
            "",
            "for _",
            "net.weight.register_hook(lambda grad: grad * 0.5)\nfor _",
        ),
        by(
            "keep what register_hook() returns and call its remove() after the backward",
            "    net.weight.register",
            "    handle = net.weight.register",
            "    optimizer.step()",
            "    handle.remove()\n    optimizer.step()",
        ),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 0.125))",
    ),
    "kept gradients are references": case(
        "AG306",
        NET
        + """
net(x).mean().backward()
kept = [p.grad for p in net.parameters()]
for p in net.parameters():
    p.grad.zero_()
net(2 * x).mean().backward()
gap = sum((p.grad - g).abs().sum() for p, g in zip(net.parameters(), kept))
""",
        by("`p.grad.clone()`", "[p.grad for", "[p.grad.clone() for"),
        symptom="gap == 0",
    ),
    "a hook modifies the gradient in place": case(
        "AG306",
        NET
        + """
def double(grad):
    grad.mul_(2)
    return grad
net.weight.register_hook(double)
net(x).mean().backward()
optimizer.step()
""",
        by("Call `mul` instead of `mul_`", "    grad.mul_(2)\n    return grad", "    return grad.mul(2)"),
        symptom="'mul_' in double.__code__.co_names",
    ),
    "a hook fills the gradient in place": case(
        "AG306",
        NET
        + """
def fill(grad):
    grad[:, 0] = 0.0
    return grad
net.weight.register_hook(fill)
net(x).mean().backward()
optimizer.step()
""",
        by("Work on a copy (`grad.clone()`)", "    grad[:, 0]", "    grad = grad.clone()\n    grad[:, 0]"),
        symptom="'clone' not in fill.__code__.co_names",
    ),
    "a hook on the way returns zeros": case(
        "AG306",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
hidden = net(torch.randn(3, 4))
hidden.register_hook(lambda grad: grad * 0.0)
head(hidden).mean().backward()
optimizer.step()
""",
        by("Return nonzero values from the hook (check the factor", "grad * 0.0", "grad * 0.5"),
        by("None to leave the gradient as it is", "grad * 0.0", "None"),
        by("remove the hook", "hidden.register_hook(lambda grad: grad * 0.0)\n", ""),
        symptom="not net.weight.grad.any()",
        values=True,
    ),
    "a parameter's hook returns zeros": case(
        "AG306",
        NET
        + """
net.weight.register_hook(lambda grad: grad * 0.0)
net(x).mean().backward()
optimizer.step()
""",
        by("Return the gradient itself", "grad * 0.0", "grad"),
        by("(or a scaled copy) from the hook", "grad * 0.0", "grad * 0.5"),
        by("remove the hook", "net.weight.register_hook(lambda grad: grad * 0.0)\n", ""),
        symptom="not net.weight.grad.any()",
        values=True,
    ),
    "a module's hook returns zeros": case(
        "AG306",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
head.register_full_backward_hook(lambda module, grad_input, grad_output: (torch.zeros_like(grad_input[0]),))
head(net(torch.randn(3, 4))).mean().backward()
optimizer.step()
""",
        by("Return None from the hook to leave the gradient as it is", "(torch.zeros_like(grad_input[0]),)", "None"),
        by(
            "remove the hook",
            "head.register_full_backward_hook(lambda module, grad_input, grad_output: (torch.zeros_like(grad_input[0]),))\n",
            "",
        ),
        symptom="not net.weight.grad.any()",
        values=True,
    ),
    "a hook drops the accumulated gradient": case(
        "AG306",
        NET
        + """
def drop(parameter):
    parameter.grad = None
net.weight.register_post_accumulate_grad_hook(drop)
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
""",
        by(
            "Scale or clip the gradient in the hook (`parameter.grad.mul_(...)`)",
            "parameter.grad = None",
            "parameter.grad.mul_(0.5)",
        ),
        by(
            "step there with a separate optimizer before it is cleared",
            "    parameter.grad = None",
            "    own.step()\n    parameter.grad = None",
            "def drop",
            "own = torch.optim.SGD([net.weight], lr=0.1)\ndef drop",
            "SGD(net.parameters()",
            "SGD([net.bias]",
        ),
        by("remove the hook", "net.weight.register_post_accumulate_grad_hook(drop)\n", ""),
        symptom="torch.equal(net.weight, start)",
    ),
    "an optimizer's state is the gradient itself": case(
        "AG306",
        """
class Last(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "last" not in state:
                    state["last"] = p.grad
                state["last"].mul_(0.9).add_(p.grad)
                p.sub_(0.1 * state["last"])
net = nn.Linear(4, 1)
optimizer = Last(net.parameters())
for _ in range(2):
    optimizer.zero_grad(set_to_none=False)
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by("`state['last'] = p.grad.clone()`", 'state["last"] = p.grad\n', 'state["last"] = p.grad.clone()\n'),
        symptom="optimizer.state[net.weight]['last'] is net.weight.grad",
    ),
    "hooks see the last value of a loop": case(
        "AG306",
        """
first, second = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
rates = {}
for factor, p in zip((1.0, 2.0, 3.0, 4.0), [*first.parameters(), *second.parameters()]):
    p.register_hook(lambda grad: grad * factor)
second(first(torch.ones(3, 4))).mean().backward()
optimizer.step()
""",
        by(
            "`lambda grad, factor=factor: ...`",
            "lambda grad: grad * factor",
            "lambda grad, factor=factor: grad * factor",
        ),
        by(
            "create the hook in a function that takes `factor`",
            "    p.register_hook(lambda grad: grad * factor)",
            "    p.register_hook(scaled(factor))",
            "rates = {}\n",
            "def scaled(factor):\n    return lambda grad: grad * factor\n",
        ),
        symptom="torch.allclose(second.bias.grad, torch.tensor(4.0)) and torch.allclose(first.bias.grad, 4 * (second.weight.grad * 0 + 1)) or abs(first.bias.grad[0] / (second.weight[0, 0] + 0.1 * second.weight.grad[0, 0]) - 2) > 1",
    ),
    "hooks of modules see the last value of a loop": case(
        "AG306",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
taken = {}
for key in ("0", "1"):
    net.get_submodule(key).register_forward_hook(lambda module, args, output: taken.__setitem__(key, output))
(net(torch.ones(3, 4)).mean() + sum(t.pow(2).mean() for t in taken.values())).backward()
optimizer.step()
""",
        by(
            "`lambda module, args, output, key=key: ...`",
            "lambda module, args, output: taken",
            "lambda module, args, output, key=key: taken",
        ),
        by(
            "create the hook in a function that takes `key`",
            "lambda module, args, output: taken.__setitem__(key, output))",
            "storing(key))",
            "taken = {}\n",
            "taken = {}\ndef storing(key):\n    return lambda module, args, output: taken.__setitem__(key, output)\n",
        ),
        symptom="len(taken) == 1",
    ),
    "a load replaces the parameters that have hooks": case(
        "AG306",
        NET
        + """
mask = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
net.weight.register_hook(lambda grad: grad * mask)
state = {"weight": start * mask, "bias": torch.zeros(1)}
net.load_state_dict(state, assign=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(x).mean().backward()
optimizer.step()
""",
        by("Load without `assign=True`", "(state, assign=True)", "(state)"),
        by(
            "register the hook after the load",
            "net.weight.register_hook(lambda grad: grad * mask)\n",
            "",
            "assign=True)\n",
            "assign=True)\nnet.weight.register_hook(lambda grad: grad * mask)\n",
        ),
        symptom="bool((net.weight[mask == 0] != 0).any())",
    ),
    "a hook reverses the gradient of both branches": case(
        "AG306",
        """
body, label, domain = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*body.parameters(), *label.parameters(), *domain.parameters()], lr=0.1)
f = body(torch.ones(3, 4))
wanted = label.weight.detach().clone()
loss = label(f).sum()
f.register_hook(lambda grad: -grad)
(loss + 0 * domain(f).sum()).backward()
optimizer.step()
""",
        by(
            "Register the hook on a view of the tensor, and use the view in the reversed branch only",
            "f.register_hook",
            "g = f.view_as(f)\ng.register_hook",
            "domain(f)",
            "domain(g)",
        ),
        symptom="torch.allclose(body.bias.grad, -3 * wanted[0])",
    ),
    "a flat gradient is taken apart in another order": case(
        "AG306",
        """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(3, 2)).square().mean().backward()
expected = net[0].weight.grad.clone()
flat = torch.cat([p.grad.flatten() for p in net.parameters()])
offset = 0
for p in reversed(list(net.parameters())):
    p.grad = flat[offset : offset + p.numel()].view_as(p).clone()
    offset += p.numel()
optimizer.step()
""",
        by(
            "Loop over the same list of parameters, in the same order, in both places",
            "reversed(list(net.parameters()))",
            "net.parameters()",
        ),
        symptom="not torch.equal(net[0].weight.grad, expected)",
    ),
    "gradients of a function are zipped in another order": case(
        "AG306",
        """
layers = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
function = torch.func.grad(lambda params: torch.func.functional_call(layers, params, (torch.ones(3, 4),)).sum())
gradients = function({name: p.detach() for name, p in reversed(list(layers.named_parameters()))})
expected = gradients["0.weight"]
for (name, p), (other, gradient) in zip(layers.named_parameters(), gradients.items()):
    p.grad = gradient
optimizer.step()
""",
        by("look each one up by its name", "p.grad = gradient", "p.grad = gradients[name]"),
        by(
            "give `zip()` both in the order of one dict",
            "zip(layers.named_parameters(), gradients.items())",
            "zip(reversed(list(layers.named_parameters())), gradients.items())",
        ),
        symptom="layers[0].weight.grad is not expected",
    ),
    "a hook is registered on compiled code": case(
        "AG306",
        """
def half(module, inputs, output):
    return output * 0.25
forward(torch.ones(3, 4)).sum().backward()
net[0].register_forward_hook(half)
net.zero_grad()
forward(torch.ones(3, 4)).sum().backward()
""",
        by(
            "Register the hook before the first call of the compiled Sequential",
            "forward(torch.ones(3, 4)).sum().backward()\nnet[0].register_forward_hook(half)\n",
            "net[0].register_forward_hook(half)\nforward(torch.ones(3, 4)).sum().backward()\n",
        ),
        by("call `torch.compiler.reset()` after it", "(half)", "(half)\ntorch.compiler.reset()"),
        symptom="net[1].weight.grad.abs().sum() > 100",
        before="""
torch._dynamo.reset()
net = nn.Sequential(nn.Linear(4, 2, bias=False), nn.Linear(2, 1, bias=False))
for layer in net:
    nn.init.constant_(layer.weight, 10.0)
forward = torch.compile(net, backend="aot_eager")
""",
    ),
}
