"""Faults of what is folded from a log: the surface, the history, the request header; and of the session's header."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.agent_loop.request import Requests
from dshcore.session import header, history, request_header, surface
from dshcore.session.history import History
from dshcore.session.log import Session
from dshcore.session.surface import Surface

SESSION_SURFACE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "empty-metadata-passes",
        "SURF-OP-01",
        "Surface metadata that says nothing is accepted on any type.",
        edit(Surface, "check", ("if field in candidate:", "if candidate.get(field):")),
    ),
    Fault(
        "a-missing-marker-appends",
        "SURF-OP-02",
        "A message without a marker is appended to the surface.",
        edit(
            Surface,
            "check",
            ('if "surfaceOp" not in candidate:', "if False:"),
            ('candidate["surfaceOp"])', 'candidate.get("surfaceOp", "append"))'),
        ),
    ),
    Fault(
        "everything-stands-on-the-surface",
        "SURF-OP-03",
        "What is only logged takes a place on the surface.",
        edit(Surface, "check", ("return None", 'return self._place_of(kind, "append")')),
    ),
    Fault(
        "a-replacement-goes-to-the-end",
        "SURF-OP-04",
        "A replacement is put behind everything that is left.",
        edit(
            Surface,
            "place",
            (
                "self._events[place.first : place.last + 1] = [event]",
                "del self._events[place.first : place.last + 1]\n    self._events.append(event)",
            ),
        ),
    ),
    Fault(
        "ranges-of-numbers",
        "SURF-OP-05",
        "A range is told to be reversed by the numbers of its ends.",
        edit(Surface, "_place_of", ("if not place.replaces:", "if start > end:")),
    ),
    Fault(
        "ends-are-moved",
        "SURF-OP-06",
        "A range that begins nowhere begins with the first node.",
        edit(
            Surface,
            "_place_of",
            (
                'for name, seq in (("start", start)',
                'index_of.setdefault(start, 0)\n    for name, seq in (("start", start)',
            ),
        ),
    ),
    Fault(
        "markers-may-say-more",
        "SURF-OP-07",
        "Unknown members of a marker are ignored.",
        edit(Surface, "_place_of", ("set(marker) != _REPLACE_KEYS", "not set(marker) >= _REPLACE_KEYS")),
    ),
    Fault(
        "appends-count-as-replacements",
        "SURF-OP-08",
        "The count of replacements grows with everything that enters the surface.",
        edit(Surface, "place", ("if place.replaces:", "if True:")),
    ),
    Fault(
        "replaced-events-lose-their-marker",
        "SURF-OP-09",
        "What was replaced is no part of the transcript any more.",
        edit(
            Session,
            "_commit",
            (
                "self._history.follow(event, place)",
                (
                    "self._history.follow(event, place)\n"
                    "        if place.replaces:\n"
                    '            self._events[0] = freeze({**self._events[0], "surfaceOp": None})'
                ),
            ),
        ),
    ),
    Fault(
        "sources-before-the-range",
        "SURF-OP-10",
        "The list of sources is checked before the range is looked up.",
        edit(
            Surface,
            "check",
            ('place = self._place_of(kind, candidate["surfaceOp"])\n', ""),
            (
                "sources = _check_sources(candidate)",
                'sources = _check_sources(candidate)\n    place = self._place_of(kind, candidate["surfaceOp"])',
            ),
        ),
    ),
    Fault(
        "ends-are-cited-enough",
        "SURF-SRC-01",
        "A replacement need not cite what stands between its ends.",
        edit(
            Surface,
            "_check_coverage",
            (
                "for seq in self.shadowed_by(place) if",
                "for seq in {*self.shadowed_by(place)[:1], *self.shadowed_by(place)[-1:]} if",
            ),
        ),
    ),
    Fault(
        "sources-are-sorted",
        "SURF-SRC-02",
        "The list of sources is stored in order.",
        edit(
            Session,
            "append",
            (
                "metadata[name] = _lossless(kind, given,",
                "metadata[name] = _lossless(kind, sorted(given) if type(given) is list else given,",
            ),
        ),
    ),
    Fault(
        "an-event-cites-itself",
        "SURF-SRC-03",
        "An event may cite its own number.",
        edit(surface, "_check_sources", ("source >= seq", "source > seq")),
    ),
    Fault(
        "sources-may-repeat",
        "SURF-SRC-04",
        "A source may be cited twice.",
        edit(surface, "_check_sources", ("if len(set(sources)) != len(sources):", "if False:")),
    ),
    Fault(
        "anybody-may-cite-nothing",
        "SURF-SRC-05",
        "Every message may have an empty list of sources.",
        edit(surface, "_check_sources", ('if not sources and kind != "assistant/message":', "if False:")),
    ),
    Fault(
        "results-summarise",
        "SURF-TOOL-01",
        "A result may replace several nodes.",
        edit(Surface, "_check_rewrite", ("if place.first != place.last:", "if False:")),
    ),
    Fault(
        "rewritten-results-have-other-ids",
        "SURF-TOOL-02",
        "A rewritten result may have another id.",
        edit(
            surface,
            "_without_content",
            ('{**message, "content": (block,)}', '{**message, "id": None, "content": (block,)}'),
        ),
    ),
    Fault(
        "gaps-are-folded-over",
        "SURF-FOLD-01",
        "A log with a gap is folded all the same.",
        edit(surface, "fold_surface", ("if seq != expected:", "if False:")),
    ),
    Fault(
        "results-are-no-history",
        "DERIVE-PROJ-01",
        "Results of tools are left out of the history.",
        edit(history, "derive_event_message", ('case "tool/result":', 'case "tool/result" if False:')),
    ),
    Fault(
        "messages-are-framed",
        "DERIVE-PROJ-02",
        "The history has something around each message.",
        edit(
            history,
            "derive_event_message",
            ('message = event["data"]\n', 'message = {**event["data"], "framed": True}\n'),
        ),
    ),
    Fault(
        "empty-answers-are-history",
        "DERIVE-PROJ-03",
        "A message of the model without content is sent to it again.",
        edit(history, "derive_event_message", ('if not message["content"]:', "if False:")),
    ),
    Fault(
        "replaced-messages-remain",
        "DERIVE-PROJ-04",
        "The history is not made anew after a replacement.",
        edit(History, "follow", ("self._stale = True", "self._project(event)")),
    ),
    Fault(
        "interrupted-answers-are-forgotten",
        "DERIVE-PROJ-05",
        "An interrupted answer is no part of the history.",
        edit(
            history,
            "derive_event_message",
            ('case "assistant/message":', 'case "assistant/message" if not event["data"].get("interrupted"):'),
        ),
    ),
    Fault(
        "the-history-of-later",
        "DERIVE-PROJ-06",
        "A request holds what was appended while it was made.",
        edit(
            Requests,
            "attempt",
            ("history = self._session.derive_messages()", "history = self._session._history._messages"),
        ),
    ),
    Fault(
        "only-appended-messages",
        "DERIVE-PROJ-07",
        "An event that replaces something yields no message.",
        edit(
            history,
            "derive_event_message",
            ('match event["type"]:', 'match event["type"] if event.get("surfaceOp") == "append" else "":'),
        ),
    ),
    Fault(
        "the-history-itself-is-handed-out",
        "DERIVE-SNAP-01",
        "A history that somebody holds grows.",
        edit(History, "view", ("return Prefix(self._messages)", "return self._messages")),
    ),
    Fault(
        "absent-fields-are-filled-in",
        "HEADER-META-01",
        "A header without a depth says that it is 0.",
        edit(header, "make_header", ('"createdAt": now(),', '"createdAt": now(), "delegationDepth": 0,')),
    ),
    Fault(
        "unknown-metadata-is-kept",
        "HEADER-META-02",
        "A header takes over whatever stands in the metadata.",
        edit(
            header,
            "make_header",
            ("for name in _META if name in meta", 'for name in meta if name not in ("id", "version")'),
        ),
    ),
    Fault(
        "relative-directories-pass",
        "HEADER-META-03",
        "A working directory may be relative.",
        edit(header, "read_header", ("not PurePath(cwd).is_absolute()", "not cwd")),
    ),
    Fault(
        "a-boolean-is-a-count",
        "HEADER-META-04",
        "True is taken for a depth.",
        edit(
            header,
            "read_header",
            ("not is_count(header.get(name))", "not is_count(int(header.get(name) is True) or header.get(name))"),
        ),
    ),
    Fault(
        "newer-headers-pass",
        "HEADER-META-05",
        "A header of a later version is accepted.",
        edit(header, "_is_version", ("value == FORMAT_VERSION", "value >= FORMAT_VERSION")),
    ),
    Fault(
        "the-header-is-an-event",
        "HEADER-META-06",
        "The header is the first event of the log.",
        edit(
            Session,
            "__init__",
            (
                "self.first_live_seq: Final",
                'self.append("session/header", self.header)\n    self.first_live_seq: Final',
            ),
        ),
    ),
    Fault(
        "empty-fields-are-canonical",
        "HEADER-REQ-01",
        "The canonical form has an empty system text.",
        edit(request_header, "canonical_header", ("if header.get(name):", "if name in header:")),
    ),
    Fault(
        "headers-inherit",
        "HEADER-REQ-02",
        "What a request header does not say is that of the one before.",
        edit(
            Session,
            "_commit",
            (
                'canonical_header(event["data"]["header"])',
                'freeze({**(self._request_header or {}), **canonical_header(event["data"]["header"])})',
            ),
        ),
    ),
    Fault(
        "tools-are-a-set",
        "HEADER-REQ-03",
        "Tools in another order are the same.",
        edit(
            request_header,
            "_same_text",
            ("encode(left) == encode(right)", "sorted(map(encode, left)) == sorted(map(encode, right))"),
        ),
    ),
    Fault(
        "tools-are-values",
        "HEADER-REQ-04",
        "Tools are compared as values, in which the order of members says nothing.",
        edit(request_header, "_same_text", ("encode(left) == encode(right)", "same(left, right)")),
    ),
    Fault(
        "a-header-with-every-request",
        "HEADER-REQ-05",
        "A loop logs its header with every request.",
        edit(Requests, "_log_header", ("not header_equals(header, last)", "True")),
    ),
    Fault(
        "the-window-is-kept",
        "HEADER-CTX-01",
        "A context without a window keeps the one before.",
        edit(
            Session,
            "_commit",
            ("data if isinstance(data, JsonObject) else None", "freeze({**(self._request_context or {}), **data})"),
        ),
    ),
    Fault(
        "a-context-with-every-request",
        "HEADER-CTX-02",
        "A loop logs its context with every request.",
        edit(Requests, "_log_header", ("if not same(session.request_context(), context):", "if True:")),
    ),
)
