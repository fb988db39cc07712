"""Files: tables that are read, and output that is written.

Text files are read as text, cell by cell, so that what a column means is decided
in one place (``kinlearn.tables``), and a code such as ``007`` stays what it is.
Under the name of an output file stands a whole file or none.
"""

import codecs
import csv
import gzip
import io
import os
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kinlearn import utils
from kinlearn.cli._console import Output
from kinlearn.cli._errors import UserError, file_error, listed, one_line, suggest

__all__ = [
    "Source",
    "as_csv",
    "as_numbers",
    "as_text",
    "check_output",
    "check_table_output",
    "read_table",
    "replacing",
    "write_table",
    "written",
]

_SAMPLE = 256 * 1024
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|"}
_NAMED["space"] = " "
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT = (".csv", ".tsv", ".tab", ".txt")
_ENDINGS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
    ".ipc": "Feather",
}
_MAGIC = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Feather"),
    (b"PK\x03\x04", "zip"),
    (b"\xd0\xcf\x11\xe0", "Excel"),
    (b"SQLite format 3", "SQLite"),
    (b"\x80\x04\x95", "pickle"),
    (b"\x93NUMPY", "NumPy"),
    (b"\x89HDF", "HDF5"),
    (b"%PDF", "PDF"),
)
_WRITTEN = (".csv", ".tsv", ".parquet", ".feather")
_ADVICE = "kin reads CSV, TSV, Parquet and Feather: save the table as one of these."


@dataclass(frozen=True, eq=False)
class Source:
    """A table and where it came from.

    - `path`: The file.
    - `frame`: Its rows. From text files every cell is text, or missing.
    - `remarks`: What was decided on the way that a user should know.
    - `reading`: Of text files: separator and encoding, as ``pandas.read_csv`` calls
      them.
    """

    path: Path
    frame: pd.DataFrame
    remarks: list = field(default_factory=list)
    reading: dict = field(default_factory=dict)

    def need(self, name: str, option: str) -> None:
        """Refuse a column that is not there."""
        if name not in self.frame.columns:
            raise UserError(
                f"{self.path.name} has no column {name!r} ({option}). "
                f"{suggest(name, self.frame.columns)}"
            )


def read_table(
    path: Path, *, separator: str | None = None, encoding: str | None = None
) -> Source:
    """Read a table, or raise an error of one line."""
    path = Path(path)
    _check_there(path)
    try:
        head = _first_bytes(path)
        kind = _kind_of(path, head)
        if kind == "text":
            frame, remarks, reading = _read_text(path, head, separator, encoding)
        else:
            if separator is not None or encoding is not None:
                raise UserError(
                    f"{path.name} is a {kind} file: --separator and --encoding are "
                    "for text files. Leave them out."
                )
            frame, remarks, reading = _read_binary(path, kind), [], {}
    except OSError as error:
        raise file_error(error, path, "read") from error
    _check_shape(path, frame)
    return Source(path, frame, remarks, reading)


def _check_there(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"{path} is a folder. Name a file in it.")
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise UserError(f"There is no folder {folder}. Check the path.")
        endings = {*_TEXT, *_ENDINGS, ".gz"}
        near = [f.name for f in sorted(folder.iterdir()) if f.suffix in endings]
        hint = suggest(path.name, near) if near else "Check the path."
        raise UserError(f"There is no file {path}. {hint}")
    if path.stat().st_size == 0 and path.is_file():
        raise UserError(f"{path} is empty (0 bytes). Save the table again.")


def _first_bytes(path: Path) -> bytes:
    with open(path, "rb") as stream:
        head = stream.read(_SAMPLE)
    if not head.startswith(b"\x1f\x8b"):
        return head
    try:
        with gzip.open(path) as stream:
            head = stream.read(_SAMPLE)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(
            f"{path} is a damaged gzip file ({one_line(error, 80)}). Copy it again."
        ) from error
    if not head:
        raise UserError(f"{path} holds an empty file. Save the table again.")
    return head


def _kind_of(path: Path, head: bytes) -> str:
    """Text, Parquet or Feather: by the name, checked against the content."""
    ending = path.suffix.lower()
    if ending == ".gz":
        ending = Path(path.stem).suffix.lower()
    content = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if ending in _ENDINGS:
        if content != _ENDINGS[ending]:
            is_text = content is None and b"\0" not in head
            end = "it looks like text. Rename it to .csv." if is_text else _ADVICE
            raise UserError(f"{path} is not a {_ENDINGS[ending]} file: {end}")
        return content
    if content in ("Parquet", "Feather"):
        raise UserError(
            f"{path} is a {content} file. Rename it to "
            f"{path.stem}.{content.lower()}, to match its content."
        )
    if content is not None:
        kind = "an Excel workbook or a zip archive" if content == "zip" else content
        raise UserError(f"{path} is no table that kin reads ({kind}). {_ADVICE}")
    if b"\0" in head and not head.startswith(tuple(bom for bom, _ in _BOMS)):
        raise UserError(f"{path} is a binary file, not a table. {_ADVICE}")
    return "text"


def _read_binary(path: Path, kind: str) -> pd.DataFrame:
    import pyarrow as pa

    try:
        frame = pd.read_parquet(path) if kind == "Parquet" else pd.read_feather(path)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise UserError(
            f"{path} is damaged or cut short ({one_line(error, 100)}). Write it again."
        ) from error
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index() if named else frame.reset_index(drop=True)


def _read_text(
    path: Path, head: bytes, separator: str | None, encoding: str | None
) -> tuple[pd.DataFrame, list[str], dict[str, Any]]:
    remarks = []
    encoding, guessed = _choose_encoding(path, head, encoding)
    if guessed:
        remarks.append(f"{path.name} is not UTF-8; read as {encoding} (--encoding).")
    text = head.decode(encoding, errors="ignore")
    separator = _choose_separator(path, text, separator)
    _check_header(path, text, separator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=separator,
                encoding=encoding,
                dtype=str,
                index_col=False,
                skipinitialspace=True,
                compression="gzip" if path.suffix.lower() == ".gz" else None,
            )
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not {encoding} text (byte {error.start}). Pass its "
            "encoding, such as --encoding cp1252."
        ) from error
    except pd.errors.ParserWarning as error:
        raise UserError(
            f"Rows of {path} have more fields than its first line has names. Name "
            "every column, or pass the right --separator."
        ) from error
    except (pd.errors.ParserError, csv.Error, EOFError, zlib.error) as error:
        why = one_line(error, 120).removeprefix("Error tokenizing data. C error: ")
        raise UserError(
            f"{path} is no regular table: {why}. Fix that line, or pass the right "
            "--separator."
        ) from error
    frame.columns = [str(name).strip() for name in frame.columns]
    return frame, remarks, {"sep": separator, "encoding": encoding}


def _choose_encoding(path: Path, head: bytes, encoding: str | None) -> tuple[str, bool]:
    """The encoding, and whether it was a guess that is worth a remark."""
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError as error:
            raise UserError(
                f"There is no encoding {encoding!r}. Try utf-8, cp1252, latin-1 or "
                "utf-16."
            ) from error
        return encoding, False
    for bom, name in _BOMS:
        if head.startswith(bom):
            return name, False
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(path, "rb") as stream:
        try:
            while part := stream.read(1 << 20):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252", True
    return "utf-8", False


def _choose_separator(path: Path, text: str, separator: str | None) -> str | None:
    if separator is not None:
        separator = _NAMED.get(separator.lower(), separator)
        if len(separator) != 1:
            raise UserError(
                f"--separator {separator!r} is not one character. Use ',', ';', '|' or "
                "'tab'."
            )
    elif path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        separator = "\t"
    else:
        separator = _sniff(text)
    first: list[str] = next(iter(_rows(text, separator)), [])
    if len(first) < 2:
        better = _sniff(text)
        if better is not None and better != separator:
            way = f"Try --separator {_SEPARATORS[better]}."
        else:
            way = "Name the character between the columns by --separator."
        raise UserError(
            f"{path} has only one column, {one_line(' '.join(first), 60)!r}. {way}"
        )
    return separator


def _sniff(text: str) -> str | None:
    """The separator that cuts the most lines into one same number of fields."""
    best, found = (0.0, 0), None
    for candidate in _SEPARATORS:
        widths = Counter(len(row) for row in _rows(text, candidate, limit=200))
        if not widths:
            continue
        width, lines = widths.most_common(1)[0]
        if width > 1 and (lines / widths.total(), width) > best:
            best, found = (lines / widths.total(), width), candidate
    return found


def _rows(text: str, separator: str | None, limit: int = 1) -> list[list[str]]:
    """The first rows of a text; its last line may be cut and is left out."""
    if separator is None:
        separator = ","
    complete = text.rpartition("\n")[0] if len(text) > _SAMPLE // 2 else text
    rows = []
    try:
        for row in csv.reader(io.StringIO(complete), delimiter=separator):
            if row:
                rows.append(row)
            if len(rows) >= limit:
                break
    except csv.Error:
        pass  # what could be read is enough to judge by
    return rows


def _check_header(path: Path, text: str, separator: str | None) -> None:
    header = [name.strip().lstrip("\ufeff") for name in _rows(text, separator)[0]]
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    if twice:
        raise UserError(
            f"{path} has two columns of one name: {listed(twice)}. Rename one of them."
        )
    if all(_is_number(name) for name in header):
        raise UserError(
            f"The first line of {path} holds numbers, not names of columns. Put a line "
            "with the names on top."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_shape(path: Path, frame: pd.DataFrame) -> None:
    twice = frame.columns[frame.columns.duplicated()].tolist()
    if twice:
        raise UserError(
            f"{path} has two columns of one name: {listed(twice)}. Rename one of them."
        )
    frame.columns = [str(name) for name in frame.columns]
    if frame.shape[1] < 2:
        raise UserError(f"{path} has only one column. A task and features are needed.")
    if not len(frame):
        raise UserError(f"{path} has names of columns but no rows. Save it with data.")


def as_text(column: pd.Series) -> pd.Series:
    """A column as trimmed text, missing cells left missing."""
    codes, values = pd.factorize(column)  # columns of text have few different cells
    texts = [_without_fraction(str(value).strip()) for value in values]
    cells = np.array([*texts, None], dtype=object)[codes]  # -1, the missing, is last
    return pd.Series(cells, index=column.index, dtype=object)


def _without_fraction(text: str) -> str:
    whole = text.endswith(".0") and text[:-2].lstrip("-").isdigit()
    return text[:-2] if whole else text


def as_numbers(column: pd.Series, *, comma: bool = False) -> np.ndarray:
    """A column as float64; what is no finite number becomes missing."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        column = column.astype("str")
        column = column.str.replace(",", ".") if comma else column
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(
        np.float64, na_value=np.nan
    )
    return np.where(np.isfinite(numbers), numbers, np.nan)


def check_output(
    path: Path, *, inputs: Sequence[Path] = (), ending: str | None = None
) -> None:
    """Refuse, before any work, a path that cannot be written later."""
    if path.is_dir():
        raise UserError(
            f"{path} is a folder. Name a file, such as {path}/result{ending or ''}."
        )
    if ending is not None and path.suffix.lower() != ending:
        raise UserError(f"{path} must end in {ending}, such as {path.stem}{ending}.")
    if any(path.resolve() == Path(one).resolve() for one in inputs):
        raise UserError(f"{path} is the input, too. Choose another name for --out.")
    if not path.parent.is_dir():
        raise UserError(
            f"There is no folder {path.parent}. Make it, or write elsewhere."
        )
    if not os.access(path.parent, os.W_OK):
        raise UserError(
            f"The folder {path.parent} cannot be written to. Write elsewhere."
        )


def check_table_output(path: Path, *, inputs: Sequence[Path] = ()) -> None:
    """The same for a table, whose name decides its format."""
    if path.suffix.lower() not in _WRITTEN:
        raise UserError(
            f"{path} has no ending of a known table format. End its name in one of: "
            f"{', '.join(_WRITTEN)}."
        )
    check_output(path, inputs=inputs)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """As ``kinlearn.utils.replacing``; errors of the system become a UserError."""
    with written(path), utils.replacing(path) as temporary:
        yield temporary


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Errors of the system about a file that is written become a UserError."""
    try:
        yield
    except OSError as error:
        raise file_error(error, path, "write") from error


def as_csv(frame: pd.DataFrame, output: Output) -> pd.DataFrame:
    """A frame without text that spreadsheets run; a remark if there was any."""
    safe = frame.rename(columns=utils.no_formula)
    changed = [str(new) for new in safe.columns if new not in frame.columns]
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            cells = column.map(utils.no_formula)
            changed += cells[(cells != column) & column.notna()].tolist()
            safe.isetitem(place, cells)
    if changed:
        output.note(
            f"{len(changed)} cells begin like a formula. They have an apostrophe in "
            f"front, so that spreadsheets do not run them (first: "
            f"{one_line(changed[0], 40)}). Parquet and Feather files have none."
        )
    return safe


def write_table(frame: pd.DataFrame, path: Path, output: Output) -> None:
    """Write a frame in the format that the name of the file ends in."""
    with replacing(path) as temporary:
        ending = path.suffix.lower()
        if ending == ".parquet":
            frame.to_parquet(temporary, index=False)
        elif ending == ".feather":
            frame.reset_index(drop=True).to_feather(temporary)
        else:
            separator = "\t" if ending == ".tsv" else ","
            as_csv(frame, output).to_csv(temporary, index=False, sep=separator)
