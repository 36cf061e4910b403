"""Everything live: drivers, targets, the host's authority, tools, models and trials."""
