"""Programs that compile their code, as practitioners write them."""
