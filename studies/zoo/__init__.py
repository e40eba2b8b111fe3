"""The runs that the zoo's models are chosen from, by zoo/rules.yaml."""
