"""The pruners: make messages smaller without a model."""
