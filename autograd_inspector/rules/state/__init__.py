"""AG401 to AG403 and AG409: optimizer state on its device, of its dtype and shape, all of it there."""
