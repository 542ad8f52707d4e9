"""What is wrong with the public names of a package: each defect is a line that names the place and the remedy."""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import griffe

from cataloguing.keys import EventKey
from cataloguing.reading import Doc, Named, Package, doc_of, overridden, public, walk
from cataloguing.sites import MODES, Site
from dshconform.spec.mentions import RULING_ID, mentioned_ids

_OWN: Final = ("self", "cls")
_NOTHING: Final = ("None", "NoReturn", "Never", "'None'", "Iterator[None]")
_COMMAND: Final = re.compile(r"\w+\.(command|group)\b")
_ABOUT_VALUE: Final = re.compile(
    r"`|(Whether|The|A|An|All|Both|Each|Every|One|Those|Commands|What|When|Where|Which|Who|Whose|Why|How|As|For|Through"
    r"|Answer|Choose|Create|Find|Give|List|Make|Read|Return|Tell|Write)\b"
)
"""How a summary begins that is about the value."""
_AND_ANSWER: Final = re.compile(r"(\band|;) (answer|return)s?\b")
"""How a sentence goes on that says first what is done, then what is answered."""
_CODE: Final = re.compile("`+[^`]+`+")
_BEFORE_NOUN: Final = (
    r"\b(?:an?|the|this|that|these|those|its|their|whose|\w+'s|one|both|each|every|any|all|some|no|many|more|other"
    r"|another|such)\s+(?:[\w'`-]+\s+)?"
)
"""What stands before a noun: `the`, `the next`."""
_NO_NOUN: Final = re.compile(
    "after|against|as|at|before|behind|by|for|from|if|in|into|is|not|of|off|on|only|out|over|since|so|then|to|under|until"
    "|up|what|when|where|which|who|why|with|within|without"
)
"""A name that is none, whatever stands before it."""


def defects_of_names(package: Package) -> Iterator[str]:
    """Docstrings that are missing or incomplete.

    Args:
        package: All its public names are looked at.
    """
    for module in package.modules:
        if doc_of(module.tree) is None:
            yield f"{module.path}: has no docstring"
        for named in walk(module.names):
            yield from _defects(named)


def _defects(named: Named) -> Iterator[str]:
    doc = doc_of(named)
    if isinstance(named, griffe.Attribute | griffe.TypeAlias):
        if doc is None and not _told_by_owner(named):
            yield f"{named.path}: has no docstring, and its class does not say what it is"
    elif doc is None:
        yield f"{named.path}: has no docstring"
    elif isinstance(named, griffe.Function):
        yield from (f"{named.path}: {what}" for what in _incomplete(named, doc))
    else:
        yield from (f"{named.path}: {what}" for what in _incomplete_class(named))


def _told_by_owner(named: griffe.Attribute | griffe.TypeAlias) -> bool:
    """Whether the docstring of what an attribute belongs to says what it is."""
    owner = named.parent
    if isinstance(owner, griffe.Module):
        return _is_all(named, owner)
    if not isinstance(owner, griffe.Class):
        return False
    for one in (owner, *owner.mro()):
        if any(str(base).endswith(("Enum", "Flag")) for base in one.bases):
            return True  # the members of an enumeration are values
        doc = doc_of(one)
        if doc is not None and any(name in doc.given or _is_about(name, doc) for name in _spellings(named)):
            return True
    return _is_all(named, owner)


def _is_all(named: griffe.Object, owner: griffe.Module | griffe.Class) -> bool:
    """Whether a module or class defines nothing else: then what its docstring is about is this."""
    return doc_of(owner) is not None and [named] == [*public(owner)]


def _spellings(named: griffe.Attribute | griffe.TypeAlias) -> Iterator[str]:
    """How a docstring may name an attribute: as the code does, or as it is written on the wire (`as`, `keepInbox`)."""
    yield named.name
    yield named.name.removesuffix("_")
    match named.value:
        case griffe.ExprCall(arguments=arguments):
            for argument in arguments:
                match argument:
                    case griffe.ExprKeyword(name="name", value=str(written)):
                        yield written.strip("'\"")
                    case _:
                        pass
        case _:
            pass


def _incomplete(function: griffe.Function, doc: Doc) -> Iterator[str]:
    if "overload" in function.labels or "property" in function.labels:
        return
    if any(_COMMAND.match(str(decorator.value)) for decorator in function.decorators):
        return  # its docstring is what `--help` prints, and its options say what they are
    docs = [doc, *overridden(function)]
    yield from _unsaid(function, docs)
    said = any(one.returns or _answers(one) for one in docs)
    if str(function.returns) not in _NOTHING and not said:
        yield "the docstring does not say what is answered: add `Returns`"
    for error in _raised(function):
        if not any(error in _last_names(one.raises) or _is_said(error, one) for one in docs):
            yield f"the docstring does not say when {error} is raised: add it under `Raises`"
    if "async" in function.labels and not any(one.cancellation or "cancel" in one.whole.lower() for one in docs):
        yield "the docstring of a coroutine does not say what a cancellation leaves: add `Cancellation`"


def _incomplete_class(made: griffe.Class) -> Iterator[str]:
    """What the docstring of a class leaves out of its `__init__`; the fields of a dataclass are names of their own."""
    init = made.members.get("__init__")
    if isinstance(init, griffe.Function) and init.lineno:  # griffe writes one without lines for a dataclass
        told = {name for name, one in made.members.items() if isinstance(one, griffe.Attribute) and one.docstring}
        docs = [doc for one in (init, made, *made.mro()) if (doc := doc_of(one)) is not None]
        yield from _unsaid(init, docs, told)


def _unsaid(function: griffe.Function, docs: Sequence[Doc], told: AbstractSet[str] = frozenset()) -> Iterator[str]:
    """The parameters of which docstrings do not say what they are; `told` are those that something else says."""
    for parameter in function.parameters:
        name = parameter.name
        if name in _OWN or name.startswith("_") or name in told:
            continue
        if not any(name in one.given or _is_about(name, one) for one in docs):
            yield f"the docstring does not say what {name!r} is: add it under `Args`"


def _last_names(errors: Iterable[str]) -> Iterator[str]:
    return (error.rpartition(".")[2] for error in errors)


def _is_said(name: str, doc: Doc) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", doc.whole) is not None


def _is_about(name: str, doc: Doc) -> bool:
    """Whether a docstring has a name as code or as a noun, and not only a word that happens to be the same."""
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    if any(re.search(word, code) for code in _CODE.findall(doc.whole)):
        return True
    if _NO_NOUN.fullmatch(name):
        return False
    return re.search(_BEFORE_NOUN + word, doc.whole, re.IGNORECASE) is not None


def _answers(doc: Doc) -> bool:
    return (_ABOUT_VALUE.match(doc.text) or _AND_ANSWER.search(doc.text)) is not None


def _raised(function: griffe.Function) -> list[str]:
    """The errors that a function's own lines raise by name, those apart that it catches itself."""
    source = textwrap.dedent(function.source)
    if not source:
        return []
    found = ast.parse(source).body[0]
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)
    return list(dict.fromkeys(_raises(found.body)))


def _raises(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.Raise(exc=ast.Call(func=raised) | raised) if (name := _name_of(raised)) and name[0].isupper():
                if name not in {"AssertionError", "StopIteration", "NotImplementedError"}:
                    yield name
            case (
                ast.Try(body=inner, handlers=handlers, orelse=orelse, finalbody=finalbody)
                | ast.TryStar(body=inner, handlers=handlers, orelse=orelse, finalbody=finalbody)
            ):
                caught = {one for handler in handlers for one in _caught(handler)}
                yield from (one for one in _raises(inner) if one not in caught)
                for part in (*(handler.body for handler in handlers), orelse, finalbody):
                    yield from _raises(part)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass  # what stands in it is raised when that is called
            case ast.Match(cases=cases):
                for case in cases:
                    yield from _raises(case.body)
            case (
                ast.If(body=inner, orelse=orelse)
                | ast.For(body=inner, orelse=orelse)
                | ast.AsyncFor(body=inner, orelse=orelse)
                | ast.While(body=inner, orelse=orelse)
            ):
                yield from _raises([*inner, *orelse])
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from _raises(inner)
            case _:
                pass


def _caught(handler: ast.ExceptHandler) -> list[str]:
    match handler.type:
        case None:
            return []
        case ast.Tuple(elts=elements):
            return [name for one in elements if (name := _name_of(one))]
        case one:
            return [name for name in (_name_of(one),) if name]


def _name_of(error: ast.expr | None) -> str | None:
    """The last name of an error's class, as docstrings have it: `Boom` of `errors.Boom`."""
    match error:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None


def defects_of_events(keys: Sequence[EventKey], found: Sequence[Site]) -> Iterator[str]:
    """Events that are dispatched otherwise than declared, or not at all, or by a key that nobody can see.

    Args:
        keys: The declarations.
        found: All dispatches and registrations.
    """
    declared = {key.path: key for key in keys}
    for site in found:
        if site.method not in MODES:
            continue
        place = f"{site.module}.{site.within}"
        if site.key is None:
            yield f"{place}: `{site.method}({site.written}, …)` does not name the key of its event: write it there"
        elif declared[site.key].mode != MODES[site.method]:
            key = declared[site.key]
            yield f"{place}: dispatches {key.event!r} by `{site.method}`, but it is declared as {key.mode}"
    dispatched = {site.key for site in found if site.method in MODES}
    for key in keys:
        if key.path not in dispatched:
            yield f"{key.path}: {key.event!r} is declared and never dispatched: remove it, or dispatch it"


def defects_of_citations(package: Package, known: frozenset[str]) -> Iterator[str]:
    """Clauses that a docstring cites and the specification does not have.

    Args:
        package: The docstrings of its modules and names are looked through.
        known: The ids of all clauses and rulings.
    """
    for module in package.modules:
        for named in (module.tree, *walk(module.names)):
            text = named.docstring.value if named.docstring is not None else ""
            cited = [*mentioned_ids(text), *(match[0] for match in RULING_ID.finditer(text))]
            for clause in dict.fromkeys(cited):
                if clause not in known:
                    yield f"{named.path}: cites {clause}, which the specification does not have"
