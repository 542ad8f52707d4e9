"""Faults of rendering prompts, and of telling the model of its runtime context, that scenarios find."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.agent_loop.driver import Driver
from dshcore.system_prompt import rendering, snapshots
from dshcore.system_prompt.snapshots import SnapshotProjection

_UNCLOSED: Final = 'if source.find("}}", opening + 2) < 0:'
_VALUE: Final = "_value(group[1], place, variables)"

RENDERING_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "values-are-looked-into",
        "PROMPT-INT-01",
        "References in the value of a variable are filled in, too.",
        edit(rendering, "_interpolated", (_VALUE, f"_interpolated(PromptText(text.name, {_VALUE}), kind, variables)")),
    ),
    Fault(
        "references-are-trimmed",
        "PROMPT-INT-02",
        "Blanks around the name in a reference do not count.",
        edit(rendering, "_value", ("VARIABLE_NAME.fullmatch(name)", "VARIABLE_NAME.fullmatch(name := name.strip())")),
    ),
    Fault(
        "malformed-references-stay",
        "PROMPT-INT-03",
        "Two braces that open no complete group are literal text, whatever follows.",
        edit(rendering, "_interpolated", (_UNCLOSED, "if True:")),
    ),
    Fault(
        "excerpts-count-code-points",
        "PROMPT-INT-03",
        "The excerpt in the text of the error has 16 code points.",
        edit(rendering, "_excerpt", ("units = text[:_EXCERPT]", "return text[:_EXCERPT]\n    units = text[:_EXCERPT]")),
    ),
    Fault(
        "unclosed-braces-are-an-error",
        "PROMPT-INT-04",
        "Two braces that nothing closes are an error.",
        edit(rendering, "_interpolated", (_UNCLOSED, "if False:")),
    ),
    Fault(
        "unknown-references-are-empty",
        "PROMPT-INT-05",
        "A reference to a variable that is not there leaves nothing.",
        edit(rendering, "_value", ("if name not in variables:", "if name not in variables: return ''\n    if False:")),
    ),
    Fault(
        "errors-of-contexts-name-a-section",
        "PROMPT-INT-05",
        "The error of a context speaks of a section.",
        edit(rendering, "render_contexts", ('"context"', '"section"')),
    ),
    Fault(
        "empty-texts-leave-a-line",
        "PROMPT-RENDER-01",
        "A section that only its variables make empty leaves a blank line more.",
        edit(rendering, "_rendered", ("if rendered:", "if text.text:")),
    ),
    Fault(
        "texts-are-stripped",
        "PROMPT-RENDER-01",
        "White space around a section is taken off.",
        edit(rendering, "_rendered", ("if rendered:", "if rendered := rendered.strip():")),
    ),
    Fault(
        "snapshot-comes-first",
        "PROMPT-SNAP-01",
        "The snapshot stands before the messages that were claimed.",
        edit(Driver, "_decide", ("(*batch, snapshot)", "(snapshot, *batch)")),
    ),
    Fault(
        "snapshot-at-every-step",
        "PROMPT-SNAP-02",
        "A snapshot is told at every step, whether anything has changed or not.",
        edit(SnapshotProjection, "due", ("if self._retained is not None and", "if False and")),
    ),
    Fault(
        "marker-is-not-retained",
        "PROMPT-SNAP-03",
        "What is new is compared with the last snapshot that was not empty.",
        edit(
            SnapshotProjection,
            "_follow",
            (
                "self._ever, self._retained = True, event",
                'self._ever, self._retained = True, event if "form" in event["data"]["source"] else self._retained',
            ),
        ),
    ),
    Fault(
        "marker-without-a-snapshot",
        "PROMPT-SNAP-03",
        "A session that never had a snapshot is told that it has none.",
        edit(SnapshotProjection, "due", ("if not contexts and not self._ever:", "if False:")),
    ),
    Fault(
        "offered-is-told",
        "PROMPT-SNAP-04",
        "A snapshot counts as told when it is offered.",
        edit(
            SnapshotProjection,
            "due",
            (
                "return user_message(text, source)",
                (
                    "offered = user_message(text, source)\n"
                    '    self._ever, self._retained = True, {"seq": -1, "data": offered}\n'
                    "    return offered"
                ),
            ),
        ),
    ),
    Fault(
        "replacements-are-ignored",
        "PROMPT-SNAP-05",
        "A snapshot that was replaced counts as told.",
        edit(snapshots, "_replaces", ("return", "return False and")),
    ),
    Fault(
        "old-snapshots-are-told-again",
        "PROMPT-SNAP-06",
        "An agent over an old log has its snapshot told once more.",
        edit(SnapshotProjection, "__init__", ('if event["seq"] in visible', "if False")),
    ),
    Fault(
        "replaced-snapshots-of-old-logs-count",
        "PROMPT-SNAP-06",
        "An agent over an old log takes its last snapshot for told, visible or not.",
        edit(SnapshotProjection, "__init__", ('if event["seq"] in visible', "if True")),
    ),
    Fault(
        "snapshots-are-no-input",
        "PROMPT-SNAP-07",
        "A step that has only a snapshot to enter does not run.",
        edit(Driver, "_run_steps", ("if not decision.messages:", "if not batch:")),
    ),
)
