"""What a bot can call."""
