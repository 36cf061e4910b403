"""Tables, plots and gates from the rows of trials. Works with no browser installed."""
