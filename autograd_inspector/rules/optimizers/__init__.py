"""AG404 to AG408 and AG410: which parameters an optimizer has, and what its steps do."""
