"""The public names of a package, read from its source: modules, what they define, and what docstrings say of it."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

import griffe

Named: TypeAlias = griffe.Class | griffe.Function | griffe.Attribute | griffe.TypeAlias
"""What a public name can stand for."""

_TYPE_VARIABLES: Final = ("TypeVar(", "ParamSpec(", "TypeVarTuple(")

logging.getLogger("griffe").setLevel(logging.ERROR)  # types stand in signatures; that docstrings have none is no news


@dataclass(frozen=True, slots=True)
class Doc:
    """A docstring in the project's form.

    Args:
        text: What stands before the sections.
        given: Parameters or attributes, each with what is said of it.
        returns: What is answered or yielded.
        raises: Errors, each with when.
        cancellation: What is left behind when the caller is cancelled.
        spec: The clauses.
    """

    text: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: Mapping[str, str] = field(default_factory=dict)
    cancellation: str = ""
    spec: str = ""

    @property
    def whole(self) -> str:
        """Everything that is said, for looking a word up."""
        return "\n".join((self.text, *self.given.values(), self.returns, *self.raises.values(), self.cancellation))


@dataclass(frozen=True, slots=True)
class Module:
    """A public module.

    Args:
        path: Its dotted name.
        source: Its file, from the root of the repository.
        tree: What griffe read.
        names: What it defines and does not hide, in order.
    """

    path: str
    source: str
    tree: griffe.Module
    names: Sequence[Named]


@dataclass(frozen=True, slots=True)
class Package:
    """A package, as far as it is public.

    Args:
        name: As it is imported.
        modules: In the order of their names.
    """

    name: str
    modules: Sequence[Module]

    def find(self, path: str) -> griffe.Object | None:
        """What a canonical path names, if it is something of this package."""
        package = self.modules[0].tree.package
        if not path.startswith(f"{self.name}."):
            return None
        try:
            found = package[path.removeprefix(f"{self.name}.")]
        except KeyError:
            return None
        return found.final_target if isinstance(found, griffe.Alias) else found


def read_package(folder: Path, name: str, root: Path) -> Package:
    """Read a package without importing it.

    Args:
        folder: What it stands in.
        name: As it is imported.
        root: The root of the repository.
    """
    tree = griffe.load(name, search_paths=[folder], allow_inspection=False, docstring_parser="google")
    assert isinstance(tree, griffe.Module)
    return Package(name, [_module(one, root) for one in sorted(_modules(tree), key=lambda one: one.path)])


def _modules(tree: griffe.Module) -> Iterator[griffe.Module]:
    yield tree
    for name, member in tree.members.items():
        if isinstance(member, griffe.Module) and not name.startswith("_"):
            yield from _modules(member)


def _module(tree: griffe.Module, root: Path) -> Module:
    assert isinstance(tree.filepath, Path)
    return Module(tree.path, tree.filepath.relative_to(root).as_posix(), tree, tuple(public(tree)))


def public(owner: griffe.Object) -> Iterator[Named]:
    """What a module or class defines and does not hide, in order; what it imports is another's.

    Args:
        owner: The module or class.
    """
    for name, member in owner.members.items():
        if name.startswith("_") or not isinstance(member, Named):
            continue
        if isinstance(member, griffe.Attribute) and str(member.value).startswith((*_TYPE_VARIABLES, "_")):
            continue  # nor is another name of what is hidden
        yield member


def inherited(named: griffe.Class) -> Iterator[Named]:
    """What a class has of its bases and does not define itself, the nearest base first.

    Args:
        named: The class.
    """
    seen = set(named.members)
    for base in named.mro():
        yield from (one for one in public(base) if one.name not in seen)
        seen |= set(base.members)


def is_public(found: griffe.Object) -> bool:
    """Whether something has a heading on a page, or is a page.

    Args:
        found: A module, or something that one defines.
    """
    hidden = any(part.startswith("_") for part in found.path.split("."))
    return not hidden and (
        isinstance(found, griffe.Module) or any(one is found for one in public(found.parent or found))
    )


def walk(names: Sequence[Named]) -> Iterator[Named]:
    """Names, and what is public of the classes among them, each class before its members.

    Args:
        names: As a module has them.
    """
    for named in names:
        yield named
        if isinstance(named, griffe.Class):
            yield from walk(tuple(public(named)))


def doc_of(named: griffe.Object) -> Doc | None:
    """What a docstring says; that of the nearest base, for a method that overrides one and says nothing itself.

    Args:
        named: A module, or something that one defines.
    """
    if named.docstring is not None:
        return _doc(named.docstring)
    if isinstance(named.parent, griffe.Class):
        for base in named.parent.mro():
            inherited = base.members.get(named.name)
            if isinstance(inherited, griffe.Object) and inherited.docstring is not None:
                return _doc(inherited.docstring)
    return None


def overridden(function: griffe.Function) -> Iterator[Doc]:
    """What the docstrings of the methods say that a method overrides, the nearest first: it need not repeat them.

    Args:
        function: A method, or a function, which overrides none.
    """
    if isinstance(function.parent, griffe.Class):
        for base in function.parent.mro():
            found = base.members.get(function.name)
            if isinstance(found, griffe.Function) and (doc := doc_of(found)) is not None:
                yield doc


def completed(function: griffe.Function, doc: Doc) -> Doc:
    """A docstring with what the methods say besides that the method overrides.

    Args:
        function: The method.
        doc: What it says itself.
    """
    for base in overridden(function):
        doc = replace(
            doc,
            given={**base.given, **doc.given},
            returns=doc.returns or base.returns,
            raises={**base.raises, **doc.raises},
            cancellation=doc.cancellation or base.cancellation,
        )
    return doc


def _doc(docstring: griffe.Docstring) -> Doc:
    texts: list[str] = []
    given: dict[str, str] = {}
    raises: dict[str, str] = {}
    answers: list[str] = []
    said: dict[str, str] = {}
    for section in docstring.parsed:
        match section:
            case griffe.DocstringSectionText():
                texts.append(section.value)
            case griffe.DocstringSectionParameters() | griffe.DocstringSectionAttributes():
                given |= {item.name.lstrip("*"): item.description for item in section.value}
            case griffe.DocstringSectionReturns() | griffe.DocstringSectionYields():
                answers += [item.description for item in section.value]
            case griffe.DocstringSectionRaises():
                raises |= {str(item.annotation): item.description for item in section.value}
            case griffe.DocstringSectionAdmonition():
                said[str(section.value.kind)] = section.value.contents
            case _:
                raise ValueError(
                    f"{docstring.parent}: a docstring has a section {section.kind.value!r}: see CONTRIBUTING"
                )
    unknown = said.keys() - {"cancellation", "spec"}
    if unknown:
        raise ValueError(f"{docstring.parent and docstring.parent.path}: a docstring has a section {min(unknown)!r}")
    return Doc("\n\n".join(texts), given, " ".join(answers), raises, said.get("cancellation", ""), said.get("spec", ""))
