"""What only a CUDA device shows: synchronisation, streams, graphs, memory, state and scaling on real devices."""
