"""The bars for the whole service, and the measured value for each."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bar: a measured value must be at least or at most `bound`."""

    what: str
    value: float
    bound: float
    at_least: bool
    unit: str

    @property
    def passed(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass
class Scorecard:
    """The bars of one run, in the order of measurement."""

    bars: list[Requirement] = field(default_factory=list)

    def at_least(self, what: str, value: float, bound: float, unit: str = "x") -> None:
        self.bars.append(Requirement(what, value, bound, True, unit))

    def at_most(self, what: str, value: float, bound: float, unit: str = "") -> None:
        self.bars.append(Requirement(what, value, bound, False, unit))

    def show(self) -> None:
        print("\nBars")
        for bar in self.bars:
            sign = ">=" if bar.at_least else "<="
            print(
                f"  {'pass' if bar.passed else 'MISS'}  {bar.what:<66}"
                f"{bar.value:9.2f} {bar.unit:<4} {sign} {bar.bound:g}",
                flush=True,
            )
