"""``python -m distaff``."""

from distaff.cli import main

main()
