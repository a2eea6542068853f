"""Data that ships with Compactor, mapped in from the top-level folders of the project."""
