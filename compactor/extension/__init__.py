"""What can be plugged in, and the host that does it."""
