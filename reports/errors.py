"""What can be wrong with a run's folder.

ReportError
|-- RunFolderError    the folder is missing, empty, or not a run's folder
|-- ManifestError     manifest.json cannot be read as one JSON object
|-- StepsError        a line of a trial's steps.jsonl is not a step
`-- TrialIdError      a trial id that must not become part of a path

A line of rows.jsonl that is not a row is `reports.row.RowError`.
"""


class ReportError(Exception):
    """A report cannot be drawn; the text is one sentence that names the file."""


class RunFolderError(ReportError):
    """The folder is missing, empty, or holds no manifest.json."""


class ManifestError(ReportError):
    """manifest.json is there and is not one JSON object."""


class StepsError(ReportError):
    """A line of steps.jsonl is not a step; it is not the torn end of an interrupted trial."""


class TrialIdError(ReportError):
    """A trial id holds characters that the ledger never writes."""
