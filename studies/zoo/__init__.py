"""The runs from which the zoo's models are chosen, by zoo/rules.yaml."""
