"""Statistics over the steps of a run: measured on the tensors' devices, kept in bounded memory."""
