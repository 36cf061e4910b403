"""A parent and three children that verify a small app at the same time: what `axtrial subagents demo` shows."""
