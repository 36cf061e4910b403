"""Who may do what: the authority over every page."""
