"""The specification as data: its pages, their clauses, their lint."""

from typing import Final

from dshconform.spec.clause import Clause, Level, Problem, Profile, Retired, Ruling
from dshconform.spec.pages import SpecificationMissing, spec_root
from dshconform.spec.specification import (
    MalformedSpecification,
    Specification,
    UnknownClause,
    load_specification,
    read_specification,
)

SPECIFICATION_VERSION: Final = "0.1.0"
"""The version of the clause set. It is neither the suite's nor the protocol's; CHANGELOG has a stream for each."""

__all__ = [
    "SPECIFICATION_VERSION",
    "Clause",
    "Level",
    "MalformedSpecification",
    "Problem",
    "Profile",
    "Retired",
    "Ruling",
    "Specification",
    "SpecificationMissing",
    "UnknownClause",
    "load_specification",
    "read_specification",
    "spec_root",
]
