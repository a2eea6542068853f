"""Shipped with Compactor: the prompts that users copy."""
