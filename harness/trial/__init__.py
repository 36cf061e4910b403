"""Fixed, comparable trials and their rows."""
