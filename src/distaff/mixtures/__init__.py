"""log q(z), log q(z_g) and log q(z_d): the aggregate posterior as a mixture of M samples × N posteriors."""
