"""Checks that every internal link and image of a built site leads somewhere: `python docs/links.py FOLDER`."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links out of a page, and the anchors in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])


def broken(folder):
    """Links that lead nowhere, as `page: link`."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target = target / "index.html"
            anchor = unquote(parts.fragment)
            known = pages.get(target)
            if not target.exists() or (known and anchor and anchor not in known.anchors):
                yield f"{path.relative_to(folder.resolve())}: {link}"


if __name__ == "__main__":
    faults = list(broken(Path(sys.argv[1])))
    print("\n".join(faults) or "every internal link resolves")
    sys.exit(bool(faults))
