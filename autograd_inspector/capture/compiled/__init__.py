"""Code that torch.compile made, opened: Dynamo's graph of each compiled call as ops of the capture."""
