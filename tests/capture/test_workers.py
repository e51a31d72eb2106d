"""Forked workers: the capture is inert there."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import autograd_inspector
from tests.capture.observe import names, observe


class Ones(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.ones(2) * index


def test_a_data_loader_with_workers():
    """Batches come through, and the workers' ops are not in the report."""
    sums = []

    def program():
        sums.extend(batch.sum().item() for batch in DataLoader(Ones(), batch_size=2, num_workers=1))

    capture = observe(program)
    assert sums == [2.0, 10.0]
    assert "mul" not in names(capture)


def test_a_forked_child_records_nothing():
    """In the child the observers are there, do nothing, and fail at nothing."""

    def child(writer):
        with autograd_inspector.inspect() as inspection:
            pid = os.fork()
            if pid == 0:
                status = b"failed"
                try:
                    model = nn.Linear(2, 1)
                    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                    model(torch.ones(1, 2)).sum().backward()
                    optimizer.step()
                    status = b"fine"
                finally:
                    os.write(writer, status)
                    os._exit(0)
            os.waitpid(pid, 0)
            torch.ones(2).exp()
        return inspection.report.capture

    reader, writer = os.pipe()
    capture = child(writer)
    assert os.read(reader, 10) == b"fine"
    assert names(capture) == ["ones", "exp"]
