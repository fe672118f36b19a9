# SPDX-License-Identifier: BSD-2-Clause
"""Aims of measured costs. They are shown, and decide nothing."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Aim:
    """A cost may be as high as `factor` times the cost of the case `of`, if there is one, and `plus`; or it must be `below` that."""

    text: str
    of: str | None = None
    factor: float = 1
    plus: float = 0
    below: bool = False

    def limit(self, costs):
        """`costs` are those of all cases by name."""
        return self.plus + (self.factor * costs[self.of] if self.of else 0)

    def is_met(self, cost, costs):
        return cost < self.limit(costs) if self.below else cost <= self.limit(costs)
