"""Check the project's own terms: python tools/terms.py FILE_OR_FOLDER...

Comments and strings of Python and C++ and the text of Markdown must not match RULES.
Text in backticks and strings without a space are not checked: they are names. The
language rules of CONTRIBUTING.md give the reasons.
"""

import io
import re
import sys
import tokenize
from pathlib import Path

RULES = {  # pattern of whole words: advice
    r"(?-i:Of) (?!course)\w+": "begin with 'if', 'with' or 'for'",
    r"(?<!number )of (numbers|classes)": "regression, classification",
    r"what(ever)? (an?|the|is|are|it|they|was|has|have)": "use a noun",
    r"(Tell whether|tells?|told)": "return, print, raise; 'Return True if'",
    r"(is|are) no (?!longer|more|less|different)\w+": "is not a",
    r"(an?|one) (tree|byte|bit|row|value|round) an? \w+": "one tree per round",
    r"whole numbers?": "integers",
    r"so (many|few)": "the number, or 'this many'",
    r"shares? of": "fraction of",
    r"in the mean": "on average",
    r"(parts|parted|parting) (rows|levels|nothing|them|the)": "split",
    r"even cuts?": "quantiles",
    r"bytes? for byte": "bit-identical",
    r"anew": "again; recompute, resample",
    r"apart": "separately; distinguish",
    r"elsewhere": "remote; untrusted; in other libraries",
    r"besides?": "next to; in addition to",
    r"whatever": "any; regardless of",
    r"somebody|anybody|whoever": "name the thing that acts",
    r"alike": "equally; similar",
    r"farther|farthest": "further",
    r"be had": "is not supported; is not available",
    r"in vain|does no harm|by heart": "without effect; is safe; memorize",
    r"mend(s|ed)?": "fix",
    r"\w+n't": "write it out: cannot, do not, is not",
}
SUFFIXES = {".py", ".md", ".cpp", ".hpp", ".h"}
PROSE = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
NAMES = re.compile(r"`+[^`]*`+|{[^{}\n]*}")  # also the values of an f-string
CPP_PROSE = re.compile(r'//.*|/\*(?s:.*?)\*/|"(?:\\.|[^"\\\n])* (?:\\.|[^"\\\n])*"')


def prose(path):
    """Yield the first line and the text of each comment and string of a file."""
    source = path.read_text(encoding="utf-8") if path.suffix in SUFFIXES else ""
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in PROSE and " " in token.string:
                yield token.start[0], token.string
    elif path.suffix == ".md":
        yield 1, source
    else:
        for found in CPP_PROSE.finditer(source):
            yield source.count("\n", 0, found.start()) + 1, found.group()


def problems(path):
    """Yield a message per match; a phrase may run over several lines."""
    words, lines = [], []  # `lines` has one item per character of the joined words
    for first, text in prose(path):
        text = NAMES.sub(lambda found: "`" + "\n" * found[0].count("\n"), text)
        for number, line in enumerate(text.split("\n"), start=first):
            for word in re.sub(r'["#]|//|\\n', " ", line).split():
                words.append(word)
                lines += [number] * (len(word) + 1)
    for pattern, advice in RULES.items():
        for found in re.finditer(rf"(?i)\b(?:{pattern})\b", " ".join(words)):
            yield f"{path}:{lines[found.start()]}: {found.group()!r}: {advice}"


paths = [Path(name) for name in sys.argv[1:]]
files = [file for path in paths for file in [path, *path.rglob("*")] if file.is_file()]
messages = [m for f in files if f.name != Path(__file__).name for m in problems(f)]
print(*messages, sep="\n", end="\n" if messages else "")
sys.exit(bool(messages))
