"""Which files a bot may upload: regular ones of a bounded size, from one folder, and nothing outside of it."""

import stat
from pathlib import Path

from harness.host.calls import BadCall

MAX_UPLOAD_BYTES = 64 * 1024 * 1024

ABSENT = "there is no such file in the folder for uploads."
"""The same for what is not there and for what lies elsewhere: nobody learns which files this machine has."""


def upload_file(folder: Path | None, given: str) -> Path:
    """The file that `given` names, absolute or relative to `folder`, with every symbolic link followed.

    Raises:
        BadCall: there is no such folder or file, it lies or leads outside of the folder, or it is not to be uploaded.
    """
    if folder is None:
        raise BadCall("there is no folder from which files may be uploaded.")
    try:
        allowed = folder.resolve(strict=True)
        path = (allowed / given).resolve(strict=True)
        inside = path.is_relative_to(allowed)
        found = path.stat()
    except (OSError, ValueError, RuntimeError) as error:  # not there; no path at all; links in a circle
        raise BadCall(ABSENT) from error
    if not inside:
        raise BadCall(ABSENT)
    if not stat.S_ISREG(found.st_mode):
        raise BadCall("only regular files are uploaded.")
    if found.st_size > MAX_UPLOAD_BYTES:
        raise BadCall(f"the file has {found.st_size} bytes; at most {MAX_UPLOAD_BYTES} are uploaded.")
    return path
