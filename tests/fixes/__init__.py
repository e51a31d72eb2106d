"""Every fix that the inspector prints is applied to a sick program, and the program is well."""
