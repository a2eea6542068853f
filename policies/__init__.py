"""The policies that come with Compactor, as users read and copy them."""
