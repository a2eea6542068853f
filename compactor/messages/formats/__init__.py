"""The provider shapes: the only code that knows them."""
