"""Table dumps: values, escapes, columns by name, the last line."""

import gzip

import pytest

from twiki.dumps import sql
from twiki.errors import DumpError

PAGE_PROPS = """-- MariaDB dump 10.19
DROP TABLE IF EXISTS `page_props`;
CREATE TABLE `page_props` (
  `pp_page` int(8) unsigned NOT NULL,
  `pp_propname` varbinary(60) NOT NULL,
  `pp_value` blob NOT NULL,
  `pp_sortkey` float DEFAULT NULL,
  PRIMARY KEY (`pp_page`,`pp_propname`),
  UNIQUE KEY `pp_propname_page` (`pp_propname`,`pp_page`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
INSERT INTO `page_props` VALUES (10,'wikibase_item','Q1',NULL),\
(12,'x','a\\'b''c\\\\d\\n),(\\0é',1.5e-3);
INSERT INTO `page_props` VALUES (-13,'empty','',-7);
INSERT INTO `other` VALUES (1);
-- Dump completed on 2026-11-01 13:22:16
"""
REDIRECT = """CREATE TABLE `redirect` (
  `rd_from` int(8) unsigned NOT NULL DEFAULT 0,
  `rd_namespace` int(11) NOT NULL DEFAULT 0,
  `rd_title` varbinary(255) NOT NULL DEFAULT '',
  `rd_interwiki` varbinary(32) DEFAULT NULL,
  `rd_fragment` varbinary(255) DEFAULT NULL
) ENGINE=InnoDB;
INSERT INTO `redirect` VALUES (10,0,'Computer_accessibility','',''),(13,4,'B','de','Top');
-- Dump completed on 2026-11-01
"""


def write(tmp_path, text, name="table.sql.gz"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_rows_come_by_column_name_with_every_kind_of_value(tmp_path):
    rows = list(sql.rows(write(tmp_path, PAGE_PROPS), "page_props"))
    assert [tuple(row.values()) for row in rows] == [
        (10, b"wikibase_item", b"Q1", None),
        (12, b"x", b"a'b'c\\d\n),(\x00" + "é".encode(), 0.0015),
        (-13, b"empty", b"", -7),
    ]
    assert list(rows[0]) == ["pp_page", "pp_propname", "pp_value", "pp_sortkey"]


def test_page_props_and_redirects_have_records(tmp_path):
    (item, *_) = sql.page_props(write(tmp_path, PAGE_PROPS))
    assert item == sql.PageProp(page_id=10, name="wikibase_item", value="Q1")
    assert list(sql.redirects(write(tmp_path, REDIRECT))) == [
        sql.RedirectRow(page_id=10, namespace=0, title="Computer accessibility"),
        sql.RedirectRow(page_id=13, namespace=4, title="B", interwiki="de", fragment="Top"),
    ]


def test_columns_named_in_the_insert_win_and_other_notations_are_read(tmp_path):
    text = "INSERT INTO `t` (`a`, `b`) VALUES (0x4142,_binary 'x');\n-- Dump completed\n"
    assert list(sql.rows(write(tmp_path, text), "t")) == [{"a": b"AB", "b": b"x"}]


@pytest.mark.parametrize(
    ("table", "text", "found"),
    [
        ("page_props", PAGE_PROPS.replace("-- Dump completed", "--"), "end of the file"),
        ("page_props", PAGE_PROPS[: PAGE_PROPS.index(",1.5e")], "not a row"),
        ("page_props", PAGE_PROPS.replace(",NULL)", ")"), "expected a row of 4 columns, found 3"),
        ("page_props", PAGE_PROPS.replace("'Q1'", "'Q1"), "not a row|columns"),
        ("redirect", PAGE_PROPS, "expected table 'redirect'"),
    ],
)
def test_a_damaged_or_other_table_is_an_error(tmp_path, table, text, found):
    with pytest.raises(DumpError, match=rf"table\.sql\.gz.*({found})"):
        list(sql.rows(write(tmp_path, text), table))


def test_a_table_without_rows_is_empty(tmp_path):
    empty = "".join(line for line in REDIRECT.splitlines(keepends=True) if "INSERT" not in line)
    assert list(sql.redirects(write(tmp_path, empty))) == []
