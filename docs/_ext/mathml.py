"""Formulas as MathML, which browsers draw themselves.

Sphinx's usual way loads MathJax from the network when a page is opened; these
pages are to be read without one.
"""

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _mathml(node, *, as_block):
    try:
        return latex2mathml.tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("formula not understood: %s", error, location=node)
        return f"<code>{node.astext()}</code>"


def visit_inline(translator, node):
    """Write a formula inside a line."""
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    """Write a formula that stands alone."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_mathml(node, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
