"""The ground floor: what every room stands on and that knows nothing of any of them."""
