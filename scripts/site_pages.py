"""What the site shows beside docs/: the README, the examples, their notebooks. MkDocs calls this (mkdocs.yml, hooks).

Documents link to each other as files of the repository; here such links become links between pages.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
# Files of the repository that are pages, or part of one, and where; docs/x.md is x.md.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "license.md",
    "NOTICE": "notice.md",
    "examples/mnist.py": "examples/mnist-quickstart.md",
    "examples/mnist_submit.py": "examples/mnist_submit.md",
    "examples/scala/src/main/scala/MnistSubmit.scala": "examples/mnist-scala.md",
    "examples/mnist.ipynb": "examples/mnist.md",
    "examples/flights.ipynb": "examples/flights.md",
    "examples/solar.ipynb": "examples/solar.md",
    "examples/cifar10.ipynb": "examples/cifar10.md",
}
SOURCES = {page: source for source, page in PAGES.items()}
LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))")
LANGUAGES = {".py": "python", ".scala": "scala"}


def on_files(files: Any, config: Any) -> Any:
    for source, page in PAGES.items():
        for name, content in rendered(ROOT / source, page).items():
            files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = page.file.src_uri
    source = SOURCES.get(here, f"docs/{here}")
    lines, in_code = [], False
    markdown = re.sub(r"^<!-- (?:given|not run).*?-->\n", "", markdown, flags=re.DOTALL | re.MULTILINE)  # for tests
    for line in markdown.split("\n"):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        lines.append(line if in_code else adapted(line, source, here))
    return "\n".join(lines)


def adapted(line: str, source: str, here: str) -> str:
    """The line with links between pages. A bar inside code needs no backslash here, though it does elsewhere."""
    if line.startswith("|"):
        line = re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), line)
    return LINK.sub(lambda match: match[1] + link(match[2], source, here) + match[3], line)


def link(target: str, source: str, here: str) -> str:
    """A link of a file of the repository, as the page of that file has it."""
    path, hash_sign, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return target
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    page = PAGES.get(meant, meant.removeprefix("docs/"))
    return posixpath.relpath(page, posixpath.dirname(here) or ".") + hash_sign + anchor


def rendered(source: Path, page: str) -> dict[str, str | bytes]:
    """The page of a file, and the pictures on it."""
    if source.suffix == ".ipynb":
        return notebook(json.loads(source.read_text()), page.removesuffix(".md"))
    text = source.read_text()
    if source.suffix == ".md":
        return {page: text}
    language = LANGUAGES.get(source.suffix, "text")
    return {page: f"# {source.relative_to(ROOT)}\n\n```{language}\n{text.rstrip()}\n```\n"}


def notebook(content: dict[str, Any], name: str) -> dict[str, str | bytes]:
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in content["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            data = {
                kind: "".join(value) for kind, value in output.get("data", {}).items() if isinstance(value, (str, list))
            }
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode(data["image/png"])
                parts.append(f"![what the cell draws]({posixpath.basename(picture)})")
            elif "text/html" in data:
                parts.append(re.sub(r"\n\s*", " ", data["text/html"]))
            elif "text/plain" in data:
                parts.append(f"```text\n{data['text/plain'].rstrip()}\n```")
    return {f"{name}.md": "\n\n".join(parts) + "\n", **pictures}
