"""When a long run has to end."""

import math
import time


def moment(text: str) -> float:
    """Seconds since the epoch of the next HH:MM on the machine's clock; never, for an empty text."""
    if not text:
        return math.inf
    now = time.localtime()
    hour, _, minute = text.partition(":")
    left = (int(hour) - now.tm_hour) * 3600 + (int(minute) - now.tm_min) * 60 - now.tm_sec
    return time.time() + left % 86400
