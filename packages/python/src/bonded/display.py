"""What a phone may show: the rules of labels, values and texts, and how a text is cleaned."""
from __future__ import annotations

import re
import unicodedata
from typing import Callable, Iterator, Mapping, Sequence

from . import unicode_tables as table
from .canonical import JS_SPACE, escape_units
from .errors import BondedError

Pair = Mapping[str, str]

MAX_TEXT_BYTES = 8_192
MAX_TEXT_LINES = 200
MAX_PAIRS = 8
MAX_LABEL = 64
MAX_VALUE = 256
DASH = "—"


def one_of(*classes: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(f"[{''.join(classes)}]").match


_is_hidden, _is_visible = one_of(table.HIDDEN), re.compile(f"[{table.VISIBLE}]").search
# Two spaces and more, and marks that pile up over their neighbors.
_STACKED = f"[{table.INHERITED_MARK}]{{3,}}|([{table.MARK}])\\1{{2,}}|[{table.MARK}]{{5,}}"
_CROWDED = re.compile(f"[{table.SPACE}]{{2,}}|{_STACKED}")
# In the lines of a text, a phone draws runs of spaces and line breaks as they are.
_CROWDED_IN_LINES = re.compile(
    f"(?![ \n])[{table.SPACE}](?=[{table.SPACE}])|[ \n](?![ \n])[{table.SPACE}]|{_STACKED}"
)

# Where a joiner or a variation selector is part of the spelling (`joiners.ts` of the contract).
_JOINERS = "\u200c\u200d"
_is_virama = one_of("\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca")
_RIGHT = (
    "\u0622-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0"
    "\u06c3-\u06cb\u06cd\u06cf\u06d2-\u06d5"
)
_JOINING = f"(?=[{table.LETTER}])[\u0620\u0622-\u08c8]"
_is_joining = re.compile(_JOINING).match
_joins_next = re.compile(f"(?![{_RIGHT}]){_JOINING}").match
_is_nonspacing, _is_selector = one_of(table.NONSPACING), one_of(table.SELECTOR)
_is_emoji = one_of(table.PICTOGRAPH, table.MODIFIER, "\ufe0f")
_is_pictograph = one_of(table.PICTOGRAPH)
_is_base = one_of(table.IDEOGRAPH, table.PICTOGRAPH, table.MONGOLIAN)
_is_mark, _is_arabic = one_of(table.MARK), one_of(table.ARABIC)
_is_shaped = one_of(table.MARK, table.MODIFIER, _JOINERS, table.CURSIVE)
_is_shaping = one_of(table.SPACING, table.CURSIVE)


def _beyond(text: str, at: int, step: int, skipped: Callable[[str], object]) -> str:
    """The next character in a direction that is not to be skipped. Empty at the end."""
    at += step
    while 0 <= at < len(text) and skipped(text[at]):
        at += step
    return text[at] if 0 <= at < len(text) else ""


def _is_permitted(text: str, at: int) -> bool:
    one, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if one in _JOINERS and (_is_virama(before) or _is_virama(after)):
        return True
    if one == "\u200c":
        base = _beyond(text, at, -1, _is_nonspacing)
        return bool(_joins_next(base) and _is_joining(_beyond(text, at, 1, _is_nonspacing)))
    if one == "\u200d":
        return bool(_is_emoji(before) and _is_pictograph(after))
    if one == "\ufe0f" and after == "\u20e3":
        return True
    return bool(_is_selector(one) and _is_base(before))


def _shapes(text: str, at: int) -> bool:
    """Whether a character without a glyph changes how its neighbors are drawn."""
    one, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if one in _JOINERS:
        if _is_shaped(after) or _follows(text, at, _is_shaping):
            return True
        if one == "\u200d" and (_is_arabic(after) or _follows(text, at, _is_arabic)):
            return True
    if before and before in _JOINERS and (one in _JOINERS or _is_selector(one)):
        return True
    flag = re.search("\U0001f3f4[\U000e0020-\U000e007e]{0,6}\\Z", text[max(0, at - 7) : at])
    return flag is not None and "\U000e0020" <= one <= "\U000e007f"


def _follows(text: str, at: int, is_base: Callable[[str], object]) -> bool:
    """Whether marks alone are between the character and a base before it."""
    for place in range(at - 1, -1, -1):
        if is_base(text[place]):
            return True
        if not _is_mark(text[place]):
            return False
    return False


def _rejected(text: str, in_lines: bool) -> Iterator[tuple[int, int]]:
    """The parts of a text that could hide, reorder, cover or imitate another part."""
    crowded, at = (_CROWDED_IN_LINES if in_lines else _CROWDED), 0
    while at < len(text):
        is_break = in_lines and text[at] == "\n"
        if _is_hidden(text[at]) and not is_break and not _is_permitted(text, at):
            end = at + 1
        else:
            found = crowded.match(text, at)
            end = found.end() if found else at
        if end > at:
            yield at, end
        at = max(end, at + 1)


def is_display_text(text: str) -> bool:
    return bool(_is_visible(text)) and next(_rejected(text, False), None) is None


def is_display_value(value: str) -> bool:
    """The same for the value of a pair, which may have the directional marks of its language."""
    return is_display_text(_MARKS.sub("", value)) and (
        not _MARKS.search(value) or bool(_PERMITTED_MARKS.fullmatch(value))
    )


def is_display_lines(text: str) -> bool:
    return (
        bool(_is_visible(text))
        and next(_rejected(text, True), None) is None
        and text.count("\n") < MAX_TEXT_LINES
        and len(text.encode("utf-8", "surrogatepass")) <= MAX_TEXT_BYTES
    )


def escape_rejected_json(text: str) -> str:
    """The same JSON value with everything as escapes that `is_display_lines` rejects."""
    while True:
        # A joiner can lose its context to a replacement beside it.
        parts, last = [], 0
        for start, end in _rejected(text, True):
            parts += [text[last:start], escape_units(text[start:end])]
            last = end
        if not parts:
            return text
        text = "".join(parts) + text[last:]


def escape_hidden(line: str) -> str:
    """One line for a log: hidden characters, escape sequences among them, are written out."""
    return re.sub(f"[{table.HIDDEN}]", lambda hidden: f"\\u{{{ord(hidden[0]):x}}}", line)


def _forms_with_marks() -> str:
    """Where a value may have U+200E, U+200F and U+061C (`directional-marks.ts`)."""
    m, d = "\u200e\u200f\u061c", "0-9\u0660-\u0669\u06f0-\u06f9"
    marks, sign, text, words = f"[{m}]{{0,2}}", "[+\u2212-]", f"[^{m}]*", f"[^{m}{d}]*"
    number = f"[{d}]+(?:[.,\u066b\u066c\xa0\u202f][{d}]+)*"
    letter, mark = table.LETTER, table.MARK
    rtl = f"(?=[{letter}])[\u05d0-\u08ff]"
    years = f"(?<={rtl}) (?:- )?\\(?[{d}]{{4}}(?:-[{d}]{{4}})?\\)?"
    time = f"[{d}]{{1,2}}(?::[{d}]{{2}}){{1,2}}"
    return "|".join(
        (
            f"\\(?{marks}\\(?(?:{sign}{marks})?(?:{number}(?:{marks}[%\u066a])?(?:[KMBT]{marks})?"
            f"(?:{marks}[ \xa0\u202f]?{marks}[{letter}{table.CURRENCY}\xb0]{words}(?:{years})?)?"
            f"|{words}{number}{words}){marks}\\)?",
            f"(?:[{d}]{{1,2}}\u200f/){{2}}[{d}]{{4}}"
            f"(?:[,\u060c] {time}(?: {words}(?:{sign}[{d}]{{1,2}})?)?)?",
            f"{text}GMT(?:[+-][0-9:]+)?\u200e",
            f"(?:{text}[{letter}][^{m}(]*|(?:[{d}/]+[,\u060c] )?{time} )\\(\u200e{sign}[{d}:]+ {words}\\)",
            f"(?:{text}{rtl}[{mark}]*\u060c\u200f(?= {rtl}))+{text}",
        )
    )


_MARKS = re.compile("[\u200e\u200f\u061c]")
_PERMITTED_MARKS = re.compile(_forms_with_marks())
_CONTROL_SPACE = re.compile("[\t-\r\x85\u2028\u2029]")
_SPACES = re.compile(f"[{table.SPACE}]{{2,}}")
_is_invisible = re.compile(f"(?!{_MARKS.pattern})[{table.INVISIBLE}]").match


def display_text(text: str | None, *, marks: bool = True, empty: str = DASH) -> str:
    """The same text as a phone may show it: one space for runs and line breaks, nothing invisible.

    An empty text becomes a dash. It removes nothing that a user sees: what is too long, or drawn in
    different ways, stays, and the service rejects it with `param`.
    """
    given = "" if text is None else str(text)

    def fits(one: str) -> bool:
        return is_display_value(one) and (marks or not _MARKS.search(one))

    if fits(given):
        return given
    cleaned = _CONTROL_SPACE.sub(" ", given)
    has_changed_spaces = cleaned != given
    cleaned = re.sub("\u200c{2,}", "\u200c", cleaned)
    last = ""
    while last != cleaned:
        # A joiner can lose its context to a removal beside it.
        last = cleaned
        cleaned = "".join(one for at, one in enumerate(last) if not _is_removed(last, at))
    cleaned, last = _SPACES.sub(" ", cleaned), cleaned
    if has_changed_spaces or cleaned != last:
        cleaned = cleaned.strip(JS_SPACE)
    if not fits(cleaned):
        cleaned = _MARKS.sub("", cleaned)
    cleaned = _SPACES.sub(" ", cleaned)
    return cleaned if _is_visible(cleaned) else empty


def _is_removed(text: str, at: int) -> bool:
    return bool(_is_invisible(text[at])) and not _is_permitted(text, at) and not _shapes(text, at)


def shown_pairs(pairs: Sequence[Pair]) -> list[dict[str, str]]:
    """The pairs with the texts that `display_text` makes of them."""
    for index, pair in enumerate(pairs):
        for name in ("label", "value"):
            if not isinstance(pair[name], (str, type(None))):
                what = f"display.{index}.{name} is of the type {type(pair[name]).__name__}"
                raise TypeError(f"{what}: pass a text")
    return [
        {
            "label": display_text(pair["label"], marks=False, empty=""),
            "value": display_text(pair["value"]),
        }
        for pair in pairs
    ]


def clean_display(pairs: Sequence[Pair]) -> list[dict[str, str]]:
    """The pairs as a phone may show them. Raises `invalid_request` for one that none may show."""
    display = shown_pairs(pairs)
    if len(display) > MAX_PAIRS:
        raise _problem("context.display", f"a phone shows at most {MAX_PAIRS} pairs")
    for index, pair in enumerate(display):
        for name, most, is_shown in (
            ("label", MAX_LABEL, is_display_text),
            ("value", MAX_VALUE, is_display_value),
        ):
            param = f"context.display.{index}.{name}"
            if len(pair[name]) > most:
                raise _problem(param, f"it is longer than {most} characters")
            if not is_shown(pair[name]):
                raise _problem(param, "it is empty, or phones draw its characters differently")
        if len({_folded(one["label"]) for one in display[: index + 1]}) <= index:
            raise _problem(f"context.display.{index}.label", "another pair has the same label")
    return display


def _folded(label: str) -> str:
    plain = "".join(one for one in unicodedata.normalize("NFKC", label) if not _is_joiner(one))
    return re.sub(f"[{JS_SPACE}]+", " ", plain).strip(JS_SPACE).lower()


_is_joiner = one_of("\u200c\u200d\u180e", table.SELECTOR)


def _problem(param: str, what: str) -> BondedError:
    message = f"The display has a pair that no phone may show: {param}: {what}."
    return BondedError("invalid_request", message, param=param)
