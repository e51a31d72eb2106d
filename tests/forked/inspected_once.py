"""Imported by the process that forks: what the inspector makes on its first use, each fork then has."""

import torch

import autograd_inspector

with autograd_inspector.inspect() as inspection:
    torch.ones(2, requires_grad=True).exp()  # No backward: where torch has threads for it, no fork would get them.
inspection.report.to_json()
inspection.report.to_text()
