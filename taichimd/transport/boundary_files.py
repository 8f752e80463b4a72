"""Conductance of an interface in equilibrium as table, picture, rows and entries of a record."""

from typing import Any

from taichimd.observables.green_kubo import green_kubo_result
from taichimd.observables.numbers import finding, plus_minus
from taichimd.observables.observable import Result
from taichimd.transport.boundary import Boundary

UNIT = "MW/(m² K)"


def boundary_result(found: Boundary) -> Result:
    """Table of the running integral, picture and rows."""
    result = green_kubo_result(found.conductance, ("interface",), "conductance", UNIT)
    result.tables = [
        {name.replace("²", "2"): values for name, values in table.items()} for table in result.tables
    ]
    places = "one interface" if found.halves.planes == 1 else "mean of two interfaces"
    result.rows += [
        ("without exchange", f"{plus_minus(found.corrected)} {UNIT}, without the decay of the integral"),
        ("Kapitza resistance", f"{plus_minus(found.resistance)} m² K/GW, {places}"),
        ("exchange time", f"{found.exchange:.3g} ps, of the two sides"),
    ]
    return result


def details_of_boundary(found: Boundary) -> dict[str, Any]:
    """Entries of the record."""
    one, other = found.resistance, found.corrected
    return {
        "conductance_without_exchange_MW_per_m2K": finding(other.value, other.error, UNIT).entry(),
        "kapitza_resistance_m2K_per_GW": finding(one.value, one.error, "m² K/GW").entry(),
        "exchange_time_ps": found.exchange,
        "area_A2": found.halves.area,
        "interfaces": found.halves.planes,
        "atoms_of_sides": [len(found.halves.first), len(found.halves.second)],
    }
