"""Shipped with Compactor: the plugins that users copy."""
