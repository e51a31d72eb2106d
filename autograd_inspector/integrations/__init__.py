"""One thin module per framework, named after it."""
