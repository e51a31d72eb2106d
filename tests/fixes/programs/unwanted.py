"""Gradients that flow where the program updates by other means (AG109), and transforms (AG110)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a target network is not detached": case(
        "AG109",
        """
net = nn.Linear(4, 2)
target = copy.deepcopy(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
best = target(x).amax(1, keepdim=True)
(net(x) - best).pow(2).mean().backward()
optimizer.step()
""",
        by("Call it under torch.no_grad()", "best = target", "with torch.no_grad():\n    best = target"),
        by("detach() its output", "target(x)", "target(x).detach()"),
        by("freeze the copy: requires_grad_(False)", "copy.deepcopy(net)", "copy.deepcopy(net).requires_grad_(False)"),
        symptom="target.weight.grad is not None",
    ),
    "a target network is in the optimizer": case(
        "AG109",
        """
net, target = nn.Linear(4, 2), nn.Linear(4, 2)
target.load_state_dict(net.state_dict())
optimizer = torch.optim.SGD([*net.parameters(), *target.parameters()], lr=0.1)
x = torch.randn(3, 4)
for _ in range(3):
    optimizer.zero_grad()
    best = target(x).amax(1, keepdim=True)
    (net(x) - best).pow(2).mean().backward()
    optimizer.step()
    target.load_state_dict(net.state_dict())
""",
        by(
            "Call it under torch.no_grad() or detach() its output, freeze it with requires_grad_(False), and pass only the trained parameters to the optimizer",
            "    best = target",
            "    with torch.no_grad():\n        best = target",
            "target.load_state_dict(net.state_dict())\noptimizer",
            "target.load_state_dict(net.state_dict())\ntarget.requires_grad_(False)\noptimizer",
            "[*net.parameters(), *target.parameters()]",
            "net.parameters()",
        ),
        by(
            "detach() its output, freeze it with requires_grad_(False), and pass only the trained parameters to the optimizer",
            "    best = target(x)",
            "    best = target(x).detach()",
            "target.load_state_dict(net.state_dict())\noptimizer",
            "target.load_state_dict(net.state_dict())\ntarget.requires_grad_(False)\noptimizer",
            "[*net.parameters(), *target.parameters()]",
            "net.parameters()",
        ),
        symptom="target.weight.grad is not None",
    ),
    "no_grad around a pool that calls the teacher": case(
        "AG109",
        """
from concurrent.futures import ThreadPoolExecutor
student, teacher = nn.Linear(4, 2), nn.Linear(4, 2)
optimizer = torch.optim.SGD([*student.parameters(), *teacher.parameters()], lr=0.1)
x = torch.randn(3, 4)

def ask(x):
    return teacher(x)

with ThreadPoolExecutor(1) as pool:
    with torch.no_grad():
        target = pool.submit(ask, x).result()
(student(x) - target).pow(2).mean().backward()
optimizer.step()
""",
        by("decorate it with @torch.no_grad()", "def ask", "@torch.no_grad()\ndef ask"),
        by("detach() what it returns", "return teacher(x)", "return teacher(x).detach()"),
        by(
            "freeze the parameters with requires_grad_(False)",
            "nn.Linear(4, 2), nn.Linear(4, 2)",
            "nn.Linear(4, 2), nn.Linear(4, 2).requires_grad_(False)",
        ),
        symptom="teacher.weight.grad is not None",
    ),
    "values with a graph are written into a target": case(
        "AG109",
        """
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(6, 4)
out = net(x)
target = torch.zeros(6)
target[:2] = out[:2, :2].sigmoid().mean(1)
nn.functional.binary_cross_entropy_with_logits(out[:, 2], target).backward()
optimizer.step()
""",
        by(
            "`target[index] = values.detach()`",
            "target[:2] = out[:2, :2].sigmoid().mean(1)",
            "target[:2] = out[:2, :2].sigmoid().mean(1).detach()",
        ),
        symptom="net.weight.grad[0].abs().sum() > 0",
    ),
    "a teacher learns through the target of the loss": case(
        "AG109",
        """
student, teacher = nn.Linear(4, 2), nn.Linear(4, 2).eval()
optimizer = torch.optim.SGD(nn.ModuleList([student, teacher]).parameters(), lr=0.1)
x = torch.randn(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    goal = teacher(x).softmax(-1)
    F.kl_div(student(x).log_softmax(-1), goal).backward()
    optimizer.step()
""",
        by(
            "Compute the target under torch.no_grad()",
            "    goal = ",
            "    with torch.no_grad():\n        goal = ",
            "teacher = nn.Linear(4, 2), nn.Linear(4, 2).eval()",
            "teacher = nn.Linear(4, 2), nn.Linear(4, 2).eval().requires_grad_(False)",
            "nn.ModuleList([student, teacher]).parameters()",
            "student.parameters()",
        ),
        by(
            "detach() it, freeze the teacher with requires_grad_(False), and pass only the trained parameters to the optimizer",
            "teacher(x).softmax(-1)",
            "teacher(x).softmax(-1).detach()",
            "teacher = nn.Linear(4, 2), nn.Linear(4, 2).eval()",
            "teacher = nn.Linear(4, 2), nn.Linear(4, 2).eval().requires_grad_(False)",
            "nn.ModuleList([student, teacher]).parameters()",
            "student.parameters()",
        ),
        symptom="teacher.weight.grad is not None",
    ),
    "a generator steps with its critic's gradients": case(
        "AG109",
        """
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(3):
    of_generator.zero_grad()
    fake = generator(torch.ones(3, 4))
    of_critic.zero_grad()
    critic(fake).mean().backward(retain_graph=True)
    left = generator.weight.grad
    of_critic.step()
    fake = generator(torch.ones(3, 4))
    (-critic(fake).mean()).backward()
    of_generator.step()
""",
        by(
            "detach() what is computed with generator.",
            "    critic(fake).mean().backward(retain_graph=True)",
            "    critic(fake.detach()).mean().backward()",
        ),
        by(
            "clear the gradients (zero_grad()) right before the second backward()",
            "    (-critic",
            "    of_generator.zero_grad()\n    (-critic",
        ),
        symptom="left is not None and left is generator.weight.grad",
    ),
    "the weight of a loss term is trained": case(
        "AG109",
        """
net = nn.Linear(4, 2)
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(1.0))
    def forward(self, out, y):
        return F.mse_loss(out, y) + self.weight * out.abs().mean()
criterion = Loss()
optimizer = torch.optim.SGD([*net.parameters(), *criterion.parameters()], lr=0.1)
x, y = torch.randn(3, 4), torch.randn(3, 2)
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
""",
        by("a float", "nn.Parameter(torch.tensor(1.0))", "1.0"),
        by(
            "`register_buffer('weight', ...)`",
            "self.weight = nn.Parameter(torch.tensor(1.0))",
            "self.register_buffer('weight', torch.tensor(1.0))",
        ),
        by(
            "add a second term (`exp(-s) * term + s`)",
            "self.weight * out.abs().mean()",
            "torch.exp(-self.weight) * out.abs().mean() + self.weight",
        ),
        by(
            "needs an optimizer with maximize=True",
            "[*net.parameters(), *criterion.parameters()], lr=0.1)",
            "net.parameters(), lr=0.1)\ndual = torch.optim.SGD(criterion.parameters(), lr=0.1, maximize=True)",
            "    optimizer.zero_grad()\n",
            "    optimizer.zero_grad()\n    dual.zero_grad()\n",
            "    optimizer.step()\n",
            "    optimizer.step()\n    dual.step()\n",
        ),
        symptom="isinstance(criterion.weight, nn.Parameter) and len(optimizer.param_groups[0]['params']) == 3 and not loss.grad_fn.next_functions[0][0].name().startswith('Add')",
    ),
    "vmap meets random numbers": case(
        "AG110",
        """
x = torch.randn(3, 4)
noisy = torch.vmap(lambda row: row + torch.randn_like(row))
out = noisy(x)
""",
        by('`randomness="different"`', "randn_like(row))", 'randn_like(row), randomness="different")'),
        by('`randomness="same"`', "randn_like(row))", 'randn_like(row), randomness="same")'),
    ),
    "a function does not use the parameters that it is given": case(
        "AG110",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
params = dict(net.named_parameters())
def loss(params):
    return net(x).pow(2).mean()
grads = torch.func.grad(loss)(params)
""",
        by(
            "`torch.func.functional_call(model, params, args)`",
            "net(x)",
            "torch.func.functional_call(net, params, (x,))",
        ),
        symptom="not grads['weight'].any()",
    ),
    "torch.func.grad meets a vector": case(
        "AG110",
        """
x = torch.randn(3)
slope = torch.func.grad(lambda v: v * v)(x)
""",
        by("`.sum()`", "v * v", "(v * v).sum()"),
        by("`.mean()`", "v * v", "(v * v).mean()"),
        by("torch.func.jacrev", "torch.func.grad(", "torch.func.jacrev("),
        by(
            "torch.func.vjp",
            "torch.func.grad(lambda v: v * v)(x)",
            "torch.func.vjp(lambda v: v * v, x)[1](torch.ones(3))",
        ),
    ),
    "two terms measure one pair": case(
        "AG109",
        """
net, codes = nn.Linear(4, 3), nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([*net.parameters(), codes], lr=0.1)
z = net(torch.randn(2, 4))
q = codes.expand(2, 3)
first = F.mse_loss(q, z.detach())
before = codes.detach().clone()
wanted = torch.autograd.grad(first, codes, retain_graph=True)[0]
(first + F.mse_loss(z, q)).backward()
optimizer.step()
""",
        by("detach() codes in the term that should train only z", "F.mse_loss(z, q)", "F.mse_loss(z, q.detach())"),
        symptom="not torch.allclose(codes, before - 0.1 * wanted)",
    ),
    "generated weights are copied into a module": case(
        "AG109",
        """
target, hyper = nn.Linear(4, 1, bias=False), nn.Linear(3, 4)
optimizer = torch.optim.SGD(hyper.parameters(), lr=0.1)
x = torch.ones(5, 4)
for _ in range(2):
    weight = hyper(torch.ones(3)).view(1, 4)
    with torch.no_grad():
        target.weight.copy_(weight)
    out = target(x)
    optimizer.zero_grad()
    (out.sub(1).square().mean() + 0.1 * weight.square().sum()).backward()
    optimizer.step()
""",
        by(
            "Compute with the new values themselves: `torch.func.functional_call(module",
            "    with torch.no_grad():\n        target.weight.copy_(weight)\n    out = target(x)\n",
            '    out = torch.func.functional_call(target, {"weight": weight}, (x,))\n',
        ),
        symptom="target.weight.grad is not None",
    ),
}
