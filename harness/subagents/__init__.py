"""Child processes that verify pages through their parent, without a browser of their own (ADR-0031)."""
