"""Is everything that scripts/versions names accounted for in NOTICE?"""

import re
from collections.abc import Iterator

from repository import ROOT, Finding, versions

# A name of scripts/versions, or several, in parentheses before the comma: "oneDNN (ONEDNN), Apache License 2.0".
NAMES = re.compile(r"^\S.*?\(([A-Z_, ]+)\),", re.MULTILINE)


def check() -> Iterator[Finding]:
    named = {name.strip() for names in NAMES.findall((ROOT / "NOTICE").read_text()) for name in names.split(",")}
    used = {name.removesuffix("_VERSION"): line for name, (line, _) in versions().items() if name.endswith("_VERSION")}
    for name, line in used.items():
        if name not in named:
            yield Finding("scripts/versions", line, f"add its licence and use to NOTICE, with ({name}) behind its name")
    for name in sorted(named - used.keys()):
        yield Finding("NOTICE", 1, f"not in scripts/versions: {name}")
