"""One self-contained HTML page per study, and an index of them."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simstudy.analysis.result import Result
from simstudy.claims import shown
from simstudy.lazy.pandas import pd
from simstudy.output.origin import REPORT
from simstudy.output.wording import number
from simstudy.store.manifest import MANIFEST
from simstudy.whole_files import read_json, write_bytes

STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --soft: #666; --line: #ddd; --page: #fff;
        --good: #0a6b4a; --bad: #a33c00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #eee; --soft: #aaa; --line: #444; --page: #161618;
          --good: #5ad1a4; --bad: #ff9d5c; }
  figure img { background: #fff; padding: .5rem; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; } .soft { color: var(--soft); }
.scroll { overflow: auto; max-height: 32rem; border: 1px solid var(--line); }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line);
         vertical-align: top; }
th { position: sticky; top: 0; background: var(--page); } .text { text-align: left; }
figure { margin: 2rem 0; } figure img { max-width: 100%; height: auto; }
.reproduced { color: var(--good); } .differs { color: var(--bad); }
"""
SHOWN_ROWS = 2000  # of the summary; all of it is in summary.parquet


def write_report(
    result: Result, files: Sequence[Path], manifest: Mapping[str, Any], about: str
) -> Path:
    """Write `report.html` beside the result's files, and the index of the folder above."""
    assert result.folder is not None
    name = result.plan.name
    body = [
        f"<h1>{html.escape(name)}</h1>",
        _protocol(about),
        _claims_section(result.claims),
        "<h2>Figures</h2>",
        *(_figure(path) for path in files if path.suffix == ".png"),
        *(_not_drawn(manifest)),
        "<h2>Summary</h2>",
        _summary_section(result.summary),
        _failures_section(result.failures),
        "<h2>How it was made</h2>",
        _manifest_section(manifest),
    ]
    target = result.folder / REPORT
    write_bytes(target, _page(name, body).encode())
    write_index(result.folder.parent, {name: manifest})
    return target


def write_index(folder: Path, newest: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write `index.html`: every study under `folder`, with its size and claims."""
    manifests: dict[str, Any] = {
        path.parent.name: read_json(path) for path in folder.glob(f"*/{MANIFEST}")
    }
    manifests |= dict(newest)
    rows = []
    for name, manifest in sorted(manifests.items()):
        if manifest and "replicates" in manifest:  # another program's manifest is no study
            link = f'<a href="{html.escape(name)}/report.html">{html.escape(name)}</a>'
            sizes = (f"{manifest[what]:,}" for what in ("scenarios", "replicates"))
            rows.append((link, *sizes, _claim_count(folder / name / "claims.parquet")))
    table = _html_table(["study", "scenarios", "replicates", "claims reproduced"], rows)
    target = folder / "index.html"
    write_bytes(target, _page("Studies", ["<h1>Studies</h1>", table]).encode())
    return target


def _claim_count(path: Path) -> str:
    if not path.exists():
        return ""
    claims = pd.read_parquet(path)
    good = int((claims["verdict"] == "reproduced").sum())
    return f"{good} of {len(claims)}" if len(claims) else "none stated"


def _page(title: str, body: Sequence[str]) -> str:
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>"
    )
    return head + "\n".join(body) + "</body></html>\n"


HEADING = re.compile(r"^(Aims|Data|Estimands|Methods|Performance)\s+", re.MULTILINE)


def _protocol(about: str) -> str:
    """The experiment's docstring: its question, and the five headings as a list."""
    lead, *parts = HEADING.split(about.strip())
    paragraphs = "".join(
        f"<p>{html.escape(text)}</p>" for text in lead.split("\n\n") if text.strip()
    )
    pairs = zip(parts[::2], parts[1::2], strict=True)
    items = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in pairs)
    return f"{paragraphs}<dl>{items}</dl>"


def _claims_section(claims: pd.DataFrame) -> str:
    if claims.empty:
        return ""
    rows = [_claim_row(row) for row in claims.to_dict("records")]
    names = ["claim", "published", "reproduced", "MCSE", "verdict", "remarks"]
    return "<h2>Claims of the document</h2>" + _html_table(names, rows, scrolls=False)


def _claim_row(row: Mapping[Any, Any]) -> tuple[str, ...]:
    verdict = html.escape(row["verdict"])
    return (
        _text_cell(f"{row['statement']} ({row['source']})"),
        shown(row["kind"], row["published"]),
        shown(row["kind"], row["reproduced"]),
        "" if row["kind"] == "statement" else number(row["mcse"]),
        f'<span class="{verdict}">{verdict}</span>',
        _text_cell(" ".join(filter(None, [row["detail"], row["note"]]))),
    )


def _figure(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    name = html.escape(path.stem)
    return (
        f'<figure><img alt="Figure {name}" src="data:image/png;base64,{data}">'
        f'<figcaption class="soft">Figure {name} · <a href="figures/{name}.svg">SVG</a>'
        "</figcaption></figure>"
    )


def _not_drawn(manifest: Mapping[str, Any]) -> list[str]:
    return [
        f'<p class="soft">Figure {html.escape(name)} was not drawn: {html.escape(why)}</p>'
        for name, why in manifest["figures_not_drawn"].items()
    ]


def _summary_section(summary: pd.DataFrame) -> str:
    frame = summary.head(SHOWN_ROWS).drop(columns="reason")
    rows = [tuple(_value_cell(value) for value in row) for row in frame.itertuples(index=False)]
    cut = len(summary) - len(frame)
    more = f'<p class="soft">{cut:,} more rows are in summary.parquet.</p>' if cut else ""
    return _html_table(list(frame.columns), rows) + more


def _failures_section(failures: pd.DataFrame) -> str:
    if failures.empty:
        return ""
    counts = failures.groupby("error").agg(n=("address", "size"), first=("address", "first"))
    rows = [
        (_text_cell(str(error)), str(row.n), _text_cell(row.first))
        for error, row in counts.iterrows()
    ]
    return "<h2>Failures</h2>" + _html_table(["error", "replicates", "first address"], rows)


def _manifest_section(manifest: Mapping[str, Any]) -> str:
    def plain(value: Any) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
        return number(value) if isinstance(value, float) else str(value)

    rows = [(_text_cell(key), _text_cell(plain(value))) for key, value in manifest.items()]
    return _html_table(["", ""], rows)


def _html_table(
    names: Sequence[str], rows: Sequence[tuple[str, ...]], *, scrolls: bool = True
) -> str:
    is_text = [cell.startswith("<td") for cell in rows[0]] if rows else [False] * len(names)
    head = "".join(
        f"<th{' class=text' * text}>{html.escape(name)}</th>"
        for name, text in zip(names, is_text, strict=True)
    )
    body = "".join("<tr>" + "".join(_in_cell(cell) for cell in row) + "</tr>" for row in rows)
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{whole}</div>' if scrolls else whole


def _in_cell(cell: str) -> str:
    return cell if cell.startswith("<td") else f"<td>{cell}</td>"


def _text_cell(value: str) -> str:
    return f'<td class="text">{html.escape(value)}</td>'


def _value_cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else html.escape(str(value))
