"""Statements with a body: what a program can put around others."""

from __future__ import annotations

SCOPES: dict[str, tuple[str, ...]] = {
    "saved-tensor hooks": (
        "with torch.autograd.graph.saved_tensors_hooks(pack, unpack):\n    {body}",
        "with torch.autograd.graph.save_on_cpu():\n    {body}",
        "with torch.autograd.graph.saved_tensors_hooks(failing_pack, unpack):\n    {body}",
        "with torch.autograd.graph.saved_tensors_hooks(pack, failing_unpack):\n    {body}",
        "with torch.autograd.graph.disable_saved_tensors_hooks('not here'):\n    {body}",
        "with torch.autograd.graph.allow_mutation_on_saved_tensors():\n    {body}",
    ),
    "autocast": (
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    {body}",
        "with torch.autocast('cpu', enabled=False):\n    {body}",
    ),
    "function mode": (
        "with FunctionLog():\n    {body}",
        "with Doubling():\n    {body}",
        "with torch.device('cpu'):\n    {body}",
        "with torch._C.DisableTorchFunctionSubclass():\n    {body}",
        "with torch._C.DisableTorchFunction():\n    {body}",
    ),
    "dispatch mode": ("with DispatchLog():\n    {body}", "with DispatchLog(), FunctionLog():\n    {body}"),
    "fake tensors": (
        "from torch._subclasses.fake_tensor import FakeTensorMode\nwith FakeTensorMode(allow_non_fake_inputs=True):\n    {body}",
    ),
    "thread": ("def work():\n    global v0, v1, v2\n    {body}\nin_thread(work)",),
    "generator": (
        "for _ in steps(2):\n    {body}",
        "def produce():\n    global v0, v1, v2\n    {body}\n    yield 1\nlog.append(list(produce()))",
    ),
    "grad mode": (
        "with torch.no_grad():\n    {body}",
        "with torch.enable_grad():\n    {body}",
        "with torch.set_grad_enabled(False):\n    {body}",
        "with torch.inference_mode():\n    {body}",
        "@torch.no_grad()\ndef decorated():\n    global v0, v1, v2\n    {body}\ndecorated()",
    ),
    "caught": (
        "try:\n    {body}\nexcept Exception as error:\n    log.append((type(error).__name__, str(error)))",
        "try:\n    {body}\nexcept (Exception, Stop) as error:\n    log.append((type(error).__name__, str(error)))\n    log.append(lines_of(error))",
        "try:\n    {body}\nfinally:\n    log.append('finally')",
    ),
    "warnings caught": (
        "with warnings.catch_warnings():\n    {body}",
        "with warnings.catch_warnings(record=True) as found:\n    {body}\nlog.append(told(found))",
        "with warnings.catch_warnings(record=True) as found:\n    warnings.simplefilter('always')\n    {body}\nlog.append(told(found))",
        "with warnings.catch_warnings():\n    warnings.simplefilter('error')\n    {body}",
        "with warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    warnings.filterwarnings('always', module='program')\n    {body}",
    ),
    "anomaly": ("with torch.autograd.detect_anomaly(check_nan=False):\n    {body}",),
    "function": ("def inner():\n    global v0, v1, v2\n    {body}\ninner()",),
    "closure": (
        "def closure():\n    global v0, v1, v2\n    opt.zero_grad()\n    {body}\n    loss = (x0 * w0).sum()\n    loss.backward()\n    return loss\nopt.step(closure)",
    ),
    "in a hook": (
        "@once_at_a_time\ndef hook(grad):\n    global v0, v1, v2\n    {body}\nhandle = w0.register_hook(hook)\ntry:\n    (w0 * x0).sum().backward()\nfinally:\n    handle.remove()",
        "@once_at_a_time\ndef hook(*args):\n    global v0, v1, v2\n    {body}\nhandle = nested.register_forward_hook(hook)\ntry:\n    nested(x0)\nfinally:\n    handle.remove()",
    ),
    "in a checkpoint": (
        "def run(x):\n    global v0, v1, v2\n    {body}\n    return x * 2\ncheckpoint(run, x0 * w0, use_reentrant={flag}).sum().backward()",
    ),
    "in a Function": (
        "class Inner(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        global v0, v1, v2\n        {body}\n        return x * 2\n    @staticmethod\n    def backward(ctx, grad):\n        return grad\nInner.apply(x0 * w0).sum().backward()",
    ),
    "in a transform": (
        "def scalar(t):\n    global v0, v1, v2\n    {body}\n    return (t * t).sum()\nlog.append(torch.func.grad(scalar)(x0).sum().item())",
    ),
    "loop": ("for _ in range({n}):\n    {body}",),
}
"""Kind -> texts with a line ``{body}``."""
