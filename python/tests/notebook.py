"""Runs the cells of a notebook in order: `python notebook.py FILE`; needs no Jupyter.

Values at the end of a cell are shown as Jupyter would ask for them, so that these methods are run too.
"""

import ast
import json
import sys


def shown(value):
    """What Jupyter would print."""
    if value is None:
        return ""
    html = getattr(value, "_repr_html_", None)
    return html() if html is not None else repr(value)


def run(path):
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        text = "".join(cell["source"])
        where = f"{path}, cell {number}"
        tree = ast.parse(text, where)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, where, "exec"), names)
        if last is not None:
            print(shown(eval(compile(ast.Expression(last.value), where, "eval"), names)))


if __name__ == "__main__":
    run(sys.argv[1])
