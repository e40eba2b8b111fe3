"""Studies of Locatello et al. 2020: pairs and few labels."""
