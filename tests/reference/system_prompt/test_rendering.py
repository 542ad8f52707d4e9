"""References and joining."""

import pytest

from dshcore.system_prompt import Assembly, PromptText, UnrenderablePrompt, render_contexts, render_system


def rendered(text: str, **variables: str | None) -> str:
    return render_system(Assembly(sections=[PromptText("s", text)], variables=dict(variables)))


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("v={{a}}", "v={{b}} $1"),
        ("{{a}}{{b}}", "{{b}} $1B"),
        ("{{b}}}", "B}"),
        ("plain", "plain"),
        ("${X:-{{fallback}", "${X:-{{fallback}"),
        ("{{{{", "{{{{"),
        ("}} {{ lone", "}} {{ lone"),
        ("{{}", "{{}"),
        ("{{b}} then {{ lone", "B then {{ lone"),
        ("{{e}}", ""),
    ],
)
def test_complete_groups_are_filled_in_once(text: str, system: str) -> None:
    """Values are not looked into, and what opens no group stays (PROMPT-INT-01, PROMPT-INT-04)."""
    assert rendered(text, a="{{b}} $1", b="B", e="") == system


@pytest.mark.parametrize(
    ("text", "inner"), [("{{ model }}", " model "), ("{{}}", ""), ("{{A}}", "A"), ("{{}}}}", ""), ("{{a\n}}", "a\n")]
)
def test_a_group_of_no_name_is_malformed(text: str, inner: str) -> None:
    """PROMPT-INT-02."""
    with pytest.raises(UnrenderablePrompt) as error:
        rendered(text, model="m", a="x")
    assert str(error.value) == (
        f'malformed prompt variable reference "{{{{{inner}}}}}" in section "s" '
        "(variable names match /^[a-z][a-z0-9_]*$/)"
    )


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        ("{{{a}}}", "{{{a}}}"),
        ("{{ x {{a}}", "{{ x {{a}}"),
        ("{{a} }}", "{{a} }}"),
        ("ok {{a} 12345678901234567890 }}", "{{a} 12345678901"),
        (
            "{{{\U0001f600\U0001f600\U0001f600\U0001f600\U0001f600\U0001f600\U0001f600}}",
            "{{{" + "\U0001f600" * 6 + "\ud83d",
        ),
    ],
)
def test_a_brace_that_opens_no_complete_group_is_malformed(text: str, excerpt: str) -> None:
    """The text tells where, in 16 code units at most (PROMPT-INT-03)."""
    with pytest.raises(UnrenderablePrompt) as error:
        rendered(text, a="x")
    assert str(error.value) == (
        f'malformed prompt variable reference at "{excerpt}…" in section "s" '
        "(references are complete simple {{name}} groups)"
    )


def test_an_unknown_name_and_one_without_a_value() -> None:
    """Only the assembly's own variables count (PROMPT-INT-05)."""
    with pytest.raises(UnrenderablePrompt) as unknown:
        rendered("{{nope}}", provider="p", model=None)
    assert str(unknown.value) == (
        'unknown prompt variable "{{nope}}" in section "s"; registered variables: provider, model'
    )
    with pytest.raises(UnrenderablePrompt, match=r"registered variables: \(none\)"):
        rendered("{{constructor}}")
    with pytest.raises(UnrenderablePrompt) as valueless:
        rendered("{{model}}", model=None)
    assert str(valueless.value) == 'prompt variable "{{model}}" has no value for this assembly (section "s")'


def test_sections_are_joined_by_a_blank_line() -> None:
    """Those that render to nothing are left out, white space stays (PROMPT-RENDER-01)."""
    texts = ["A", "", "{{x}}", " ", "B"]
    assembly = Assembly(sections=[PromptText(text, text) for text in texts], variables={"x": ""})
    assert render_system(assembly) == "A\n\n \n\nB"
    assert render_system(Assembly()) == ""


def test_contexts_follow_the_same_rules() -> None:
    """Their texts name them (PROMPT-INT-05, PROMPT-CTX-01)."""
    assembly = Assembly(contexts=[PromptText("c", "{{x}}!"), PromptText("e", "")], variables={"x": "X"})
    assert render_contexts(assembly) == (PromptText("c", "X!"),)
    with pytest.raises(UnrenderablePrompt, match='context "policy"'):
        render_contexts(Assembly(contexts=[PromptText("policy", "{{missing}}")]))
