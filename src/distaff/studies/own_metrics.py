"""Names of metrics in a study: metrics of the library, with protocols, and users' own functions."""

from distaff.metrics.catalogue import all_metrics


def is_own(metric: str) -> bool:
    """Whether a metric is ``module:function`` from outside the library.

    >>> is_own("mine:score"), is_own("mig:chen18"), is_own("mig")
    (True, False, False)
    """
    name, colon, _ = metric.partition(":")
    return bool(colon) and name not in all_metrics()


def heading(column: str) -> str:
    """The heading of a score's column: for a user's own function, its name without its module.

    >>> heading("studies.kim18.steadiness:higgins_range"), heading("mig:chen18")
    ('higgins_range', 'mig:chen18')
    """
    return column.partition(":")[2] if is_own(column) else column


def column_of(metric: str, name: str) -> str:
    """A score's column in the table: its name, with the protocol if that is not the metric's first.

    >>> column_of("mig:chen18", "mig"), column_of("mine:score", "score")
    ('mig:chen18', 'mine:score')
    """
    first, colon, last = metric.partition(":")
    if is_own(metric):
        return f"{first}:{name}"
    name = "reconstruction" if name == "reconstruction_error" else name
    return f"{name}{colon}{last}"
