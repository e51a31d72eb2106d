"""What programs call, and the report that they get."""
