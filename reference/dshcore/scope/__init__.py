"""Scopes: which registrations a part of the application sees, and which of them are its own."""

from dshcore.scope.keys import (
    NoScopeKey,
    ScopeCycle,
    ScopeKeyBound,
    ScopeParentBinding,
    bind_scope_parent,
    scope_chain_of,
    scope_parent_of,
)
from dshcore.scope.layers import Layers
from dshcore.scope.scopes import Carrier, Scope, carrier_key, create_scope, is_carrier, scope_of, scope_target
from dshcore.scope.tables import ListTable, NamedTable

__all__ = [
    "Carrier",
    "Layers",
    "ListTable",
    "NamedTable",
    "NoScopeKey",
    "Scope",
    "ScopeCycle",
    "ScopeKeyBound",
    "ScopeParentBinding",
    "bind_scope_parent",
    "carrier_key",
    "create_scope",
    "is_carrier",
    "scope_chain_of",
    "scope_of",
    "scope_parent_of",
    "scope_target",
]
