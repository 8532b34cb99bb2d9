"""Reports of workers to the client, while a fit runs."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from distributed import Client, get_worker

# Between two reports of a worker.
REPORT_SECONDS = 0.3


def new_topic() -> str:
    """Return a name that no other fit has."""
    return f"dics-{uuid.uuid4().hex}"


class Reporting:
    """Reports how far the work of a worker is.

    Parameters
    ----------
    topic : str or None
        What the client listens to; None reports nothing.
    who : int
        What the reports begin with.
    """

    def __init__(self, topic: str | None, who: int = 0) -> None:
        self.topic = topic
        self.who = who
        self._last = 0.0

    @property
    def enabled(self) -> bool:
        """Whether somebody listens."""
        return self.topic is not None

    def update(self, done: int, *more: Any) -> None:
        """Report, unless the last time was a moment ago."""
        if self.enabled and time.monotonic() - self._last > REPORT_SECONDS:
            self._last = time.monotonic()
            get_worker().log_event(self.topic, (self.who, done, *more))


@contextlib.contextmanager
def reports_of(
    client: Client, topic: str | None, note: Callable[[Any], None]
) -> Iterator[None]:
    """Call `note` with each report under a topic, from the thread of the client."""
    if topic is None:
        yield
        return
    client.subscribe_topic(topic, lambda event: note(event[1]))
    try:
        yield
    finally:
        if client.status == "running":
            client.unsubscribe_topic(topic)
