"""The dots that emphasise ideographs, drawn as paths: as text they would be copied with the text."""

from __future__ import annotations

# Points relative to the dot's middle, in ems: the start, then the three points of each Bézier curve.
_Path = tuple[float, ...]
_SESAME: _Path = (
    -0.15, 0.155, 0.07, 0.09, 0.16, 0.01, 0.16, -0.105, 0.16, -0.17, 0.08, -0.215, 0.045, -0.12, 0.0, 0.0, -0.075,
    0.075, -0.165, 0.135,
)  # fmt: skip
_R, _K = 0.08, 0.0442  # the radius of the round dot, and the distance of the control points that make it round
_ROUND: _Path = (
    _R, 0.0, _R, _K, _K, _R, 0.0, _R, -_K, _R, -_R, _K, -_R, 0.0, -_R, -_K, -_K, -_R, 0.0, -_R, _K, -_R, _R, -_K, _R,
    0.0,
)  # fmt: skip
# By CSS shape: the path, and the height of its middle above the baseline in ems. Even at single spacing, the lines of
# Chinese and Japanese text are 1.5 ems apart, so dots have room between the em boxes (from -0.12 to 0.88) of two lines.
_SHAPES = {"sesame": (_SESAME, 1.1), "dot": (_ROUND, -0.28)}


def dot(shape: str, x: float, y: float, size: float) -> str:
    """The operators that draw the dot of a letter. `x`: the letter's middle. `y`: its baseline. All in points."""
    path, height = _SHAPES[shape]
    points = [
        f"{x + across * size:.2f} {y + (up + height) * size:.2f}"
        for across, up in zip(path[::2], path[1::2], strict=True)
    ]
    curves = (f"{' '.join(points[at : at + 3])} c" for at in range(1, len(points), 3))
    return f"{points[0]} m {' '.join(curves)} h"
