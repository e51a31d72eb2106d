"""What runs in the kernel for the front ends: the widget, and the hub that the panel talks to."""
