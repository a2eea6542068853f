"""Shipped with Compactor: the policies that users copy."""
