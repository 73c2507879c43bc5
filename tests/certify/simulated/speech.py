"""How probes speak: lines of JSON, whose numbers are as the C runner or Python prints them."""

import json


class Speech:
    """Lines of one answer."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, event: str, **fields: object) -> None:
        """One line."""
        self.lines.append(json.dumps({"event": event, **fields}))

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(f"{line}\n" for line in self.lines)
