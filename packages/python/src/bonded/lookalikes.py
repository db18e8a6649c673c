"""The text of a request, and what is escaped in it because it could pass for ASCII.

The rules are those of `lookalikes.ts` in `@bonded/integrator`; shared vectors compare the two.
"""
from __future__ import annotations

import functools
import re
from typing import Any

from . import unicode_tables as table
from .canonical import JS_SPACE, escape_units, indented_json
from .display import escape_rejected_json, is_display_lines, one_of
from .errors import ApprovalError

_is_ascii = re.compile("[ -~]+").fullmatch
# A letter, mark or symbol that looks like no ASCII, in a folded text, and a mark in it.
_OTHER, _MARK = "\u00df", "\u0300"
# A letter of an unspaced script of South East Asia, and of East Asia.
_THAI, _HAN = "\u0e01", "\u4e00"
_WITHIN = re.compile(
    "(?:(?<=[0-9A-Za-z\u00df])|(?<=[0-9A-Za-z\u00df][-./@:_]))[\u0e01\u4e00]{1,2}"
    "(?=[-./@:_]?[0-9A-Za-z\u00df])|(?<![\u0e01\u4e00])\u0e01(?=[0-9A-Za-z])"
)
# What looks like a full stop, before a label. Catalan has a middle dot between two l.
_DOT = re.compile(f"(?!(?<=[Ll])\u00b7[Ll])[{table.BULLET}](?=[a-z]|[A-Z]{{2}})")
# Quotation marks that draw a member: its name and the start of its value, or what is before it and
# its name.
_BLANKS, _QUOTE, _COLON = f"[{JS_SPACE}]*", f"[{table.MEMBER_QUOTE}]", "[:\u1361\u2982\ua6f4\uff1a]"
_quotes = re.compile(_QUOTE)
_draws_member = re.compile(
    f"{_QUOTE}{_BLANKS}(?:{_COLON}{_BLANKS}{_QUOTE}|[,\u3001\uff0c]{_BLANKS}{_QUOTE}"
    f"(?:[^{table.MEMBER_QUOTE}\n\r\u2028\u2029]|(?<=[{table.LETTER}])['\u2019](?=[{table.LETTER}]))+"
    f"{_QUOTE}{_BLANKS}{_COLON})"
).search
# Marks, except vowels of scripts of India, which follow Latin abbreviations in sentences.
_SIGN = re.compile(f"[{table.SIGN}]")
_is_selector = one_of(table.SELECTOR)
_is_accent = one_of(
    "\u0300-\u0304\u0306-\u030d\u030f\u0311\u0313\u0314\u031b\u0323-\u0328\u032d\u032e\u0330\u0331"
    "\u0342-\u0345\u0358"
)
_ends_in_dotted = re.compile(f"[{table.DOTTED}][{table.MARK}]{{0,4}}\\Z").search
_ends_in_letter = re.compile(
    f"[{table.LATIN}{table.GREEK}{table.CYRILLIC}][{table.SIGN}]{{0,4}}\\Z"
).search
_ends_in_sign = re.compile(
    f"(?:[{table.UNMARKED}]|\\\\u[0-9a-f]{{4}})[{table.SIGN}]{{0,4}}\\Z"
).search
_ESCAPE = r"\\(?:u[0-9a-f]{4}|.)"
# Brackets, quotes and full stops around an address do not belong to it.
_AROUND = "[()[\\]{}<>'.:;!?]"
_TOKEN = re.compile(f'(?!{_AROUND})[^ ",]+(?<!{_AROUND})')
_PART = re.compile("[0-9A-Za-z\u00df]+")
_IBAN = re.compile(
    "(?<![0-9a-z\u00df])(?!\u00df\u00df)[a-z\u00df]{2}(?!\u00df\u00df)[0-9lo\u00df]{2}"
    "(?: [0-9a-z\u00df\u0e01\u4e00]{4}(?= ))?(?: ?[0-9a-z\u00df]{4}){2,7}(?: ?[0-9a-z\u00df]{1,4})?(?![0-9a-z\u00df])",
    re.IGNORECASE,
)
# A digit of another script in a group, or a letter that looks like one, with what is before.
_DIGIT_ALIKE = f"{table.DIGIT}〇ロㅁㅇㅣ丨口"
_is_in_group = re.compile(f"[{JS_SPACE}{_DIGIT_ALIKE}](?![0-9])[{_DIGIT_ALIKE}]").fullmatch
_IBAN_DIGITS = re.compile("(?:[0-9][^0-9]*){8}")
# Forms of Russian, Kazakh and Ukrainian companies, beside a Latin name.
_LEGAL_FORM = re.compile("[\u0410\u041e]{2,3}|\u0422\u041e[\u041e\u0412]")
_LIKE_DIGIT = (
    "[\u00d8\u00f8\u0398\u039f\u03b8\u03bf\u03f4\u041e\u0427\u043e\u0447\u0472\u0473\u04e8\u04e9"
    "\u110b\u2205\u2300\u25cb\u25ef\u2b55\u3007\u3147\u3163\u4e28]"
)
_is_like_digit = re.compile(_LIKE_DIGIT).match
_NUMBER = re.compile(
    f"[{table.DIGIT}](?:(?:[{table.DIGIT}.,:'/+-]"
    f"|(?<=[{table.DIGIT}])[ \u00a0\u2009\u202f](?=[{table.DIGIT}]))*[{table.DIGIT}])?"
)
_IN_NUMBER = re.compile(
    f"(?<=[0-9])(?:{_LIKE_DIGIT}+(?![{table.LETTER}])|[\u00b0\u00ba]{{2,}})"
    # What looks like a decimal separator.
    f"|(?<=[0-9])[{table.BULLET}\u02cf\u066b\u066c]+(?=[0-9])"
    # Letters that look like 2, 3, 4, 5, 6 and 8.
    f"|(?<![{table.LETTER}])[\u00df\u0181\u01b7\u0417\u0427\u0431\u0437\u0447]+(?=[0-9])"
)
# Letters that look like 2, 3, 5, 6, 8, 0 and 1, and have no such entry in the table.
_is_drawn_digit = one_of(
    "\u01b7\u03e8\u0417\u0431\u0437\u04e1\u05df\u0b20\u0d20\u10bd\u12d0\u2d4f\u2d54\U00010320"
)
# In a line of `Ø`, `ø` for a suffix of one letter, and `ß`: letters that continue a number.
_CENTS, _START = "(?=[.,'][0-9][0-9](?![0-9]))", "(?<![0-9A-Za-zØøß])"
_DRAWN = re.compile(
    f"(?:(?<=[0-9])|(?<=[0-9][.,']))(?:[Øø]{{2,}}(?![A-Za-zØøß])|[Øø]+(?=[0-9])|Ø{_CENTS})"
    f"|{_START}[Øø]{{2,}}(?=[0-9]|[.,][0-9][0-9](?![0-9]))"
    f"|{_START}(?=[A-Za-zØø]*[0-9])(?=[0-9Øø]*[A-Za-z])[0-9A-Za-zØø]+(?![0-9A-Za-zØøß])"
)
# Suffixes of two letters: Greek ordinals, Russian folios and Persian plurals.
_SUFFIXES = ("\u03bf\u03b9", "\u043e\u0431", "\u0647\u0627")
# The same where no other letter of the line is of another script.
_DRAWN_ALONE = re.compile(
    "(?<=[0-9])(?:Ø+(?![A-Za-zØøß])|[Øø]+(?=[.,']?[0-9]))"
    f"|{_START}[Øø]+(?=[0-9]|[.,][0-9][0-9](?![0-9]))"
)
_IBAN_START = re.compile(
    "(?<![0-9A-Za-zß])[A-Z]{2}(?:[0-9]{2}| [0-9]{2} [0-9A-Z]{4}) [0-9A-Z]{4}(?![0-9A-Za-zß])"
)
_ADDRESS = re.compile(r".@|@.|://|^www\.|https?[^\w-]{0,2}/", re.IGNORECASE | re.ASCII)
_LABEL = re.compile(f"[.]([^{JS_SPACE}./:?#@()[\\]'\"-]+)")
_MIN_LETTERS = 4
_LETTERS = re.compile("[A-Za-z]")
_NOT_ASCII = re.compile("[^ -~]")
_NOT_ASCII_NOR_BLANK = re.compile(f"[^{JS_SPACE} -~]")

_is_latin = re.compile(f"[{table.LATIN}]").search
# Scripts whose letters pass for those of the others, and the rest.
_SCRIPTS = [
    re.compile(f"[{script}]").search
    for script in (table.GREEK, table.CYRILLIC, table.ARMENIAN, table.OTHER_SCRIPT)
]
_NOT_LATIN = re.compile(f"[{table.NOT_LATIN}]")
# Hyphens before Latin letters and digits, but not after others. Minus signs of numbers stay.
_HYPHEN = "-\u058a\u05be\u1806\u2010\u2011\u4e00"
_HYPHENS = re.compile(
    f"(?<![{_HYPHEN}\u2212{table.NOT_LATIN}])(?:[{_HYPHEN}]|\u2212(?![0-9]))+(?=[0-9{table.LATIN}])"
    # En dashes that draw an option: two, or one before consonants, except a preposition.
    f'|(?<![^{JS_SPACE}"])(?:(?=-*\u2013)[-\u2013]{{2,}}(?=[A-Za-z])|\u2013(?=(?![ksvwz](?![a-z]))'
    f"[b-df-hj-np-tv-xz]+(?![{table.LETTER}{table.MARK}{table.NUMBER}.'\u2019])))"
)
_WORDS = re.compile(
    f"{_ESCAPE}|(?:(?![{table.UNSPACED}])[{table.LETTER}{table.MARK}{table.NUMBER}])+"
)
_is_of_latin, _is_mark = one_of(table.OF_LATIN), one_of(table.MARK)
_is_greek_or_cyrillic, _is_armenian = one_of(table.GREEK, table.CYRILLIC), one_of(table.ARMENIAN)
_is_letter, _is_letter_or_mark = one_of(table.LETTER), one_of(table.LETTER, table.MARK)
_is_unspaced, _is_south_east = one_of(table.UNSPACED), one_of(table.SOUTH_EAST_ASIAN)
_is_east_asian, _is_form = one_of(table.EAST_ASIAN), one_of(table.ASCII_FORM)
_is_east_asian_form = one_of("\u2460-\u24ff\u3000-\u33ff\ufe30-\ufe6f\uff01-\uffef")
_is_quote, _is_letter_or_number = one_of(table.QUOTE), one_of(table.LETTER, table.NUMBER)


@functools.cache
def _lookalikes() -> dict[str, str]:
    """The ASCII text that each character looks like. Read at the first use."""

    def text(codes: str) -> str:
        return "".join(chr(int(code, 16)) for code in codes.split("+"))

    records = (record.split(":") for record in table.ASCII_LOOKALIKES.split())
    return {text(one): text(target) for target, sources in records for one in sources.split(",")}


@functools.cache
def _labels() -> frozenset[str]:
    # The first two imitate "com". IANA reserves the third.
    labels = f"\u0441\u043e\u043c c{_OTHER}m test {table.TOP_LEVEL_LABELS}".split()
    return frozenset(labels) | frozenset(map(_alike, labels))


def _alike(label: str) -> str:
    """The same for labels that differ in letters which look alike in ASCII already."""
    return re.sub("[i1|]", "l", label.lower().replace("rn", "m")).replace("0", "o")


def _fold(one: str) -> str:
    """One character for each, so that places stay. A quote is the limit of a string."""
    if _is_ascii(one):
        return one
    if one == "\n":
        return '"'
    if one in JS_SPACE or (_is_quote(one) and one not in "\u2018\u2019"):
        return " "
    if one in "\u3002\uff61":
        return "."
    ascii_text = _lookalikes().get(one, "")
    if not ascii_text:
        if _is_mark(one):
            return _MARK
        if _is_unspaced(one):
            return _THAI if _is_south_east(one) else _HAN
    if not ascii_text or ascii_text.startswith(".."):
        return _OTHER
    # Neither the end of a token nor an escape: what looks like them is part of an address.
    if ascii_text[0] in ",\\" and one != "\uff0c":
        return "/"
    if ascii_text == "rn":
        return "m"
    return next((each for each in ascii_text if each.isalnum()), ascii_text[0])


def _fold_line(line: str) -> str:
    """The line as a user reads it: ASCII, `_OTHER`, and `_THAI` or `_HAN` for ends of addresses."""
    folded = "".join(map(_fold, _DOT.sub(".", line)))
    folded = re.sub(_ESCAPE, lambda part: " " * len(part[0]), folded)
    folded = re.sub("[\u0e01\u4e00]\u0300+", lambda part: _HAN * len(part[0]), folded)
    return _WITHIN.sub(lambda part: _OTHER * len(part[0]), folded.replace(_MARK, _OTHER))


def _is_imitation(one: str, is_east_asian: bool) -> bool:
    """Whether a character imitates ASCII anywhere: its form, or punctuation of no language."""
    if _is_ascii(one) or one in table.USUAL_MARKS:
        return False
    if not _is_form(one) and all(each.isalnum() for each in _lookalikes().get(one, "")):
        return False
    return not (is_east_asian and (one in table.EAST_ASIAN_MARKS or _is_east_asian_form(one)))


def _drawn(one: str) -> str:
    """`Ø` for a letter that looks like a digit, `ø` for one that may be a suffix, or `ß`."""
    if one <= "~":
        return one
    usual = _is_east_asian(one) or one in table.LATIN_LETTERS or one in table.USUAL_MARKS
    is_digit = _lookalikes().get(one, " ") in set("0123456789OoIilSsZz|") and _is_letter(one)
    if not _is_drawn_digit(one) and (usual or not is_digit):
        return "ß" if _is_letter_or_mark(one) else " "
    return "ø" if _is_greek_or_cyrillic(one) and one != one.upper() else "Ø"


def _is_address(token: str, letters: str) -> bool:
    """Whether a token without blanks has the shape of an address, as a user reads it."""
    if _ADDRESS.search(token):
        return True
    labels = [found for found in _LABEL.finditer(token) if len(found[1]) > 1]
    # Other scripts in lower case only: in г.Москва, a name follows an abbreviation.
    return any(
        not _labels().isdisjoint((_alike(one[1]), letters[slice(*one.span(1))])) for one in labels
    )


def _is_imitated_word(word: str, letters: str, is_beside_latin: bool) -> bool:
    """Whether a word of ASCII letters, as a user reads it, is written with others."""
    is_like = all(word[at] != _OTHER or _is_mark(one) for at, one in enumerate(letters))
    if not is_like or _LEGAL_FORM.fullmatch(letters):
        return False
    # A short word imitates only beside Latin letters, or in capitals.
    capitals = sum(word[at].isupper() or one != one.lower() for at, one in enumerate(letters))
    is_read = is_beside_latin or (capitals > 1 and not re.search(r"[^\w&]", word, re.ASCII))
    if is_read and _NOT_LATIN.search(letters):
        return True
    return len(_LETTERS.findall(word)) >= _MIN_LETTERS and any(
        not _is_ascii(one)
        and one not in table.LATIN_LETTERS
        and not (one in table.USUAL_MARKS and _is_of_latin(one))
        # A mark, or a symbol at the end, such as ™, is not a letter.
        and (word[at] != _OTHER if at < len(letters) - 1 else _is_letter_or_number(one))
        for at, one in enumerate(letters)
    )


def escape_lookalikes(line: str) -> str:
    """The same line with everything as escapes that could pass for ASCII.

    Names and sentences of all languages stay as they are.
    """
    if _is_ascii(line):
        return line
    unspaced = _fold_line(line)
    folded = re.sub("[\u0e01\u4e00]", " ", unspaced)
    plain = [one for at, one in enumerate(line) if folded[at] in (_OTHER, " ")]
    is_east_asian = any(map(_is_east_asian, plain))
    escaped = [
        # The full stop of Armenian looks like a colon, so it stays only after its own letters.
        not (one == "\u0589" and at and _is_armenian(line[at - 1]))
        and _is_imitation(one, is_east_asian)
        for at, one in enumerate(line)
    ]

    def escape(start: int, length: int) -> None:
        for at in range(start, start + length):
            escaped[at] = escaped[at] or line[at] > "~"

    groups = "".join(
        _OTHER if at and _is_in_group(line[at - 1 : at + 1]) else one
        for at, one in enumerate(unspaced)
    )
    for iban in _IBAN.finditer(groups):
        digits = _IBAN_DIGITS if _OTHER in iban[0] else re.compile("[0-9][0-9]")
        if digits.search(iban[0]):
            escape(iban.start(), len(iban[0]))
    # A word that imitates a Latin one does not make its line foreign.
    own = "".join(one for one in plain if not _is_like_digit(one) and not _is_drawn_digit(one))
    is_foreign = _NOT_LATIN.search(own) is not None
    # Scripts of which all letters in the line look like ASCII.
    imitating = [search for search in _SCRIPTS if not search(own)]
    drawn = "".join(map(_drawn, line))
    read = [(_DRAWN, drawn), (_IBAN_START, folded)]
    for pattern, each in read if is_foreign else [*read, (_DRAWN_ALONE, drawn)]:
        for found in pattern.finditer(each):
            if line[found.start() : found.end()] not in _SUFFIXES:
                escape(found.start(), len(found[0]))
    ascii_own = "".join(
        folded[at] if one == folded[at] or folded[at] == '"' else "-" for at, one in enumerate(line)
    )
    beside_latin = re.sub(
        '[^"]+',
        lambda part: ("+" if not is_foreign and _LETTERS.search(part[0]) else "-") * len(part[0]),
        ascii_own,
    )
    for found in _TOKEN.finditer(folded):
        start, token = found.start(), found[0]
        if _is_address(token, line[start : start + len(token)]):
            escape(start, len(token))
        whole = [] if is_foreign else [(0, token)]
        for at, part in (*whole, *((part.start(), part[0]) for part in _PART.finditer(token))):
            letters = line[start + at : start + at + len(part)]
            if is_foreign and not any(search(letters) for search in imitating):
                continue
            if _is_imitated_word(part, letters, beside_latin[start : start + 1] == "+"):
                escape(start + at, len(part))
    text = "".join(escape_units(one) if escaped[at] else one for at, one in enumerate(line))
    text = _WORDS.sub(lambda word: _escape_mixed(word[0]), text)
    text = _NUMBER.sub(lambda number: _escape_number(number[0]), text)
    if not is_foreign:
        text = _IN_NUMBER.sub(lambda part: _escape_all(_NOT_ASCII, part[0]), text)
    text = _SIGN.sub(lambda sign: escape_units(sign[0]) if _is_misplaced(sign) else sign[0], text)
    text = _HYPHENS.sub(lambda part: _escape_all(_NOT_ASCII, part[0]), text)
    if not _draws_member(line):
        return text
    return _quotes.sub(lambda one: escape_units(one[0]) if one[0] > "~" else one[0], text)


def _is_misplaced(found: re.Match[str]) -> bool:
    """Whether a mark is a dot above a dot, is no accent of its letter, or is on a sign.

    An escape is a sign too, and the marks of emoji are in their place.
    """
    one, start = found[0], found.start()
    # An escape and four marks.
    before = found.string[max(0, start - 10) : start]
    if _is_selector(one) or (one == "\u20e3" and before.endswith("\ufe0f")):
        return False
    return bool(
        (one == "\u0307" and _ends_in_dotted(before))
        or (not _is_accent(one) and _ends_in_letter(before))
        or _ends_in_sign(before)
    )


def _escape_all(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda one: escape_units(one[0]), text)


def _escape_number(text: str) -> str:
    return _escape_all(_NOT_ASCII_NOR_BLANK, text) if re.search("[0-9]", text) else text


def _escape_mixed(word: str) -> str:
    """Escapes the other letters of a word of two scripts that pass for each other."""
    if word.startswith("\\"):
        return word
    is_mixed = sum(1 for search in (_is_latin, *_SCRIPTS) if search(word)) > 1
    return _escape_all(_NOT_LATIN, word) if is_mixed else word


def request_text(args: Any) -> str:
    """The text that the phone shows: the arguments as indented JSON, with escapes.

    It reads the same everywhere, and parses to the same arguments. Raises `text_too_long` for more
    than 8,192 bytes or 200 lines.
    """
    lines = indented_json(args).split("\n")
    text = escape_rejected_json("\n".join(map(escape_lookalikes, lines)))
    if not is_display_lines(text):
        raise ApprovalError(
            "text_too_long",
            "The arguments need more than 8,192 bytes or 200 lines. Split the action, or approve a"
            " summary whose parts the action looks up.",
        )
    return text
