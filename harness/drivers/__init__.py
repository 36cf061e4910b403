"""How a browser is spoken to."""
