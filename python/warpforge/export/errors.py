"""What can go wrong in an export that its user can act on."""


class ExportError(Exception):
    """A reason, in words for the person who asked for the export."""
