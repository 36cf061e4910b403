"""Where tool calls come from."""
