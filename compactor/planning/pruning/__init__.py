"""The pruners that ship with the core: messages made smaller without a model."""
