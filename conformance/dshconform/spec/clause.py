"""What a page of the specification states, as values: clauses, rulings, retired numbers."""

from dataclasses import dataclass
from enum import StrEnum

from dshconform.spec.mentions import RULING_ID


class Level(StrEnum):
    """How binding a clause is: `must` decides the verdict, `should` is advice, `may` is never checked."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"


class Profile(StrEnum):
    """Who a clause binds: everyone (`core`), those who declare a capability, or the reference alone."""

    CORE = "core"
    LIFECYCLE = "lifecycle"
    SESSION = "session"
    PERSISTENCE = "persistence"
    PROMPT = "prompt"
    TOOLS = "tools"
    LLM = "llm"
    PRESETS = "presets"
    CONTEXT = "context"
    REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    """One numbered statement about the behaviour of an implementation.

    Args:
        id: `AREA-TOPIC-NN`; it never changes its meaning.
        level: How binding it is.
        profile: Whom it binds.
        text: The normative sentences, in Markdown.
        observe: How an outside observer can tell.
        violation: A wrong implementation that it rules out.
        basis: What it rests on: the seed document, the release, or a ruling.
        section: The heading that it stands under.
        page: The file name of its page.
        line: The line of its heading, from 1.
    """

    id: str
    level: Level
    profile: Profile
    text: str
    observe: str
    violation: str
    basis: str
    section: str
    page: str
    line: int

    @property
    def area(self) -> str:
        """The first part of the id, `INBOX` of `INBOX-CLAIM-01`."""
        return self.id.partition("-")[0]

    @property
    def group(self) -> str:
        """The id without its number, `INBOX-CLAIM` of `INBOX-CLAIM-01`."""
        return self.id.rpartition("-")[0]

    @property
    def rulings(self) -> tuple[str, ...]:
        """The ids of the rulings in its basis."""
        return tuple(RULING_ID.findall(self.basis))


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """A decision where the sources of the specification differ.

    Args:
        id: `R-NN`.
        question: What was to be decided.
        answer: What was decided, in Markdown.
        page: The file name of its page.
        line: The line of its table row, from 1.
    """

    id: str
    question: str
    answer: str
    page: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Retired:
    """A number that is no longer used, because other clauses state the fact.

    Args:
        id: The retired id; no clause may take it again.
        now: Where the fact stands now, in Markdown.
        page: The file name of the page that retires it.
        line: The line of its table row, from 1.
    """

    id: str
    now: str
    page: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something wrong with a page.

    Args:
        page: The file name of the page, or the path of the file that cites the specification.
        line: From 1.
        rule: The name of the broken rule.
        message: What is wrong, naming the text at fault and the remedy.
    """

    page: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: [{self.rule}] {self.message}"
