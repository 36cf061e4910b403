"""What a page says: reads, refs and refusals. Knows no model, no trial, no process, no vendor."""
