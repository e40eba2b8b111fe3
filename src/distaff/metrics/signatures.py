"""The signature and the docstring of a public metric, made from its formula and its protocols' settings."""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from inspect import Parameter, Signature, cleandoc, signature
from textwrap import indent
from typing import Any, get_type_hints

USUAL = {
    "codes": "(N, D) means, or ``Codes``.",
    "logvar": "(N, D) log-variances; −inf is a deterministic latent.",
    "factors": "(N, K) classes.",
    "probabilities": "soft labels p(y_k|x_n) instead of factors: name → (N, classes).",
    "protocol": "named settings; the options below override single ones.",
    "bootstrap": "number of random halves of the rows to score for the interval; 0 for none.",
    "seed": "random seed for the draws.",
}
"""Default descriptions of arguments that a formula's docstring does not describe."""

_SECTION = re.compile(r"^Args:\n((?: .*\n|\n)+)", re.M)
_ENTRY = re.compile(r"^(\w+): (.*(?:\n .*)*)", re.M)


def public_signature(formula: Callable[..., Any], protocols: Mapping[str, Any], returns: type) -> Signature:
    """The arrays that a formula reads, in the form users pass them, followed by its options as keywords.

    The options from the protocol's settings default to None, which means the protocol's value.
    """
    takes = signature(formula).parameters
    first, *_ = protocols
    fields = get_type_hints(type(protocols[first]))
    options = {name: p for name, p in takes.items() if p.kind is p.KEYWORD_ONLY}
    parameters = [
        *_arrays(set(takes)),
        Parameter("protocol", Parameter.KEYWORD_ONLY, default=first, annotation=str),
        *(_option(name, None, kind | None) for name, kind in fields.items()),
        *(_option(name, p.default, p.annotation) for name, p in options.items()),
        _option("bootstrap", 0, int),
        _option("seed", 0, int),
    ]
    return Signature(parameters, return_annotation="dict[str, Score]" if returns is dict else returns)


def wrong_call(name: str, shape: Signature, options: Iterable[str], problem: TypeError) -> TypeError:
    """The error of a call with wrong arguments; it names the metric and what was probably meant."""
    hints = [hint for option in options if (hint := _meant(option, shape))]
    return TypeError(". ".join([f"{name}(): {problem}", *hints[:1]]))


def _meant(option: str, shape: Signature) -> str:
    if option in shape.parameters:
        return ""
    if option.startswith("logvar"):
        return "Log-variances belong to the codes: give distaff.Codes(means, logvars) instead of the means"
    near = get_close_matches(option, shape.parameters, n=1)
    return f"Did you mean {near[0]!r}?" if near else ""


def public_docstring(formula: Callable[..., Any], shape: Signature, settings: type) -> str:
    """The formula's docstring, completed so that it describes every argument of the public function.

    A description comes from the formula's own docstring, else from that of the settings, else from the
    defaults.
    """
    text = cleandoc(formula.__doc__ or "") + "\n"
    known = dict(USUAL)
    for source in (*reversed(settings.__mro__), formula):
        known |= _described(cleandoc(source.__doc__ or "") + "\n")
    entries = [f"{name}: {known[name]}" for name in shape.parameters if name in known]
    section = "Args:\n" + indent("\n".join(entries), "    ") + "\n"
    if _SECTION.search(text):
        return _SECTION.sub(lambda _: section + "\n", text, count=1).strip() + "\n"
    body, mark, rest = text.partition("\nExamples:\n")
    return f"{body.rstrip()}\n\n{section}{mark}{rest}"


def _arrays(takes: set[str]) -> list[Parameter]:
    """The array parameters; annotations are names, since the unions behind them would fill a page."""
    given: list[tuple[str, Any, str]] = [("codes", Parameter.empty, "CodesLike")]
    if "models" in takes:
        given = [("models", Parameter.empty, "Mapping[str, CodesLike] | Sequence[CodesLike]")]
    elif "labels" in takes:
        given.append(("factors", None, "FactorsLike | None"))
    elif "factors" in takes:
        given.append(("factors", Parameter.empty, "FactorsLike"))
    else:
        given.append(("logvar", None, "ArrayLike | None"))
    arrays = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=words)
        for name, default, words in given
    ]
    soft = _option("probabilities", None, "Mapping[str, ArrayLike] | None")
    return [*arrays, soft] if "labels" in takes else arrays


def _option(name: str, default: Any, kind: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _described(text: str) -> dict[str, str]:
    """Argument name → its description, from the Args section of a docstring without indentation."""
    found = _SECTION.search(text)
    return dict(_ENTRY.findall(cleandoc(f"\n{found[1]}"))) if found else {}
