"""Push a hub folder to the Hugging Face hub, as one commit of the files written by ``write_hub``."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from distaff.export.card import PICTURE
from distaff.export.formats import Written
from distaff.export.publish import CARD
from distaff.foundation.errors import DistaffError, reason
from distaff.runs.hub import CONFIG, WEIGHTS

if TYPE_CHECKING:
    from huggingface_hub import HfApi

REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def open_hub(repository: str) -> "HfApi":
    """The hub's client; an error if a push to ``USER/NAME`` cannot be tried at all."""
    if not REPOSITORY.fullmatch(repository):
        raise DistaffError(f"push to a repository such as USER/NAME, not {repository!r}.")
    try:
        from huggingface_hub import HfApi, get_token
    except ImportError:
        raise DistaffError("a push needs huggingface_hub: pip install 'distaff[hub]'.") from None
    if get_token() is None:
        raise DistaffError(
            "a push needs a token of the Hugging Face hub: run `hf auth login`, or set HF_TOKEN."
        )
    return HfApi(library_name="distaff")


def push_folder(hub: "HfApi", folder: Path, repository: str, message: str) -> Written:
    """Create the repository if necessary, and commit the folder's files to it."""
    from huggingface_hub import CommitOperationAdd

    files = [folder / name for name in (CARD, PICTURE, WEIGHTS, CONFIG)]
    additions = [CommitOperationAdd(file.name, file) for file in files if file.is_file()]
    try:
        hub.create_repo(repository, exist_ok=True)
        commit = hub.create_commit(repository, additions, commit_message=message)
    except Exception as problem:  # its type depends on the client's HTTP library
        why = reason(problem).removesuffix(".")
        raise DistaffError(f"{repository} could not be pushed: {why}.") from problem
    return Written(Path(repository), f"pushed to {commit.commit_url}")
