"""Scopes: which registrations a part of the application sees, and which of them are its own."""

from dshcore.scope.layers import Layers, ListTable, NamedTable, Table, scope_chain

__all__ = ["Layers", "ListTable", "NamedTable", "Table", "scope_chain"]
