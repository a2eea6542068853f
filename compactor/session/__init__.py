"""One conversation's life: what a provider's refusal means, and what is done about it."""
