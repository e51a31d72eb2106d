"""How the work of closing a block grows with what the block did: counted, not timed."""
