"""nn.Modules: their names and calls, what they contain, and what exchanges it."""
