"""Public test kit: scripted summarisers, transcript builders, YAML golden cases."""
