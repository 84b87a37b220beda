"""Makes the wall clock of a Python process jump by the hours in the file that `JUMPING_CLOCK` names.

Python loads this module first if its folder is on the `PYTHONPATH`. Like NTP, it leaves the monotonic clock alone.
"""

import datetime
import os
import time
from pathlib import Path

_file = Path(os.environ["JUMPING_CLOCK"])
_time, _datetime = time.time, datetime.datetime


def _off() -> float:
    return float(_file.read_text() or 0)


class _Kind(type):
    def __instancecheck__(cls, value: object) -> bool:  # C code creates plain ones
        return isinstance(value, _datetime)


class Jumping(_datetime, metaclass=_Kind):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return super().now(tz) + datetime.timedelta(seconds=_off())

    @classmethod
    def utcnow(cls) -> datetime.datetime:
        return cls.now(datetime.UTC).replace(tzinfo=None)


time.time = lambda: _time() + _off()
time.time_ns = lambda: int(time.time() * 1e9)
datetime.datetime = Jumping
