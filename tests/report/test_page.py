"""Pages: nothing of a file or a name becomes HTML, and nothing is asked of the network."""

import re
from html.parser import HTMLParser

from matplotlib.figure import Figure

from taichimd.core import markup
from taichimd.report import page

EVIL = '<script>alert("1")</script>\x1b[31m & <img src=x onerror=y>'


class Reader(HTMLParser):
    """Tags of a page, and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_names_are_text_wherever_they_stand():
    made = page.document(
        EVIL,
        markup.section(EVIL, markup.paragraph(EVIL, markup.element("b", EVIL)), anchor=EVIL),
        markup.table([EVIL], [[EVIL]]),
        markup.facts([(EVIL, EVIL)]),
        markup.code(EVIL),
        markup.picture(b"", "png", EVIL, EVIL),
        EVIL,
    )
    read = Reader(made)
    assert "script" not in read.tags
    assert read.links == ["data:image/png;base64,"]
    assert "".join(read.text).count('<script>alert("1")</script>') == 12
    assert "\x1b" not in made


def test_pictures_and_scripts_are_in_the_page():
    figure = Figure()
    figure.subplots().plot([1, 2], [3, 4])
    pictures = [markup.figure_picture(figure, "a line", "A line.") for _ in range(2)]
    assert pictures[0] == pictures[1]
    made = page.document("title", pictures[0], scripts=["const a = '</script><!--'; run(a)"])
    read = Reader(made)
    assert read.tags.count("script") == 1
    assert all(link.startswith("data:image/svg+xml;base64,") for link in read.links)
    assert "\\x3c/script>\\x3c!--" in made
    assert not re.search(r"(src|href)=\"?https?:", made)
    assert "default-src &#x27;none&#x27;" in made


def test_what_is_html_is_not_escaped_twice_and_lines_stay():
    assert markup.escaped(markup.escaped("a < b")) == "a &lt; b"
    assert markup.code("one\n  two <3") == "<pre>one\n  two &lt;3</pre>"
    assert markup.table(["n"], [["1.0"]], numbers=[0]).count('class="number"') == 1
