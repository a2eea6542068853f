"""Policies: what they may say, where they are found and how they are read."""
