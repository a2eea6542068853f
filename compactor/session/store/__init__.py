"""Sessions on disk: everything that was ever said, what compactions left of it, and how sessions follow each other."""
