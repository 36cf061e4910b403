"""Where a browser runs."""
