// The table of every view: sorted, searched and with the columns that one wants; only the rows in sight are in the DOM
// (all of them with #rows=all, and in print). Its state is in the address, with the prefix `id` if a view has several.
import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { texts } from "../texts";
import { at, type Table } from "../data/documents";
import type { Column } from "../data/types";
import { Derived, Figure, Said } from "../figure";
import { useParam, useParams } from "../state";
import { Menu } from "../widgets";
import {
  chosenColumns,
  chosenWith,
  fullTitle,
  hasValues,
  hintOf,
  isNumber,
  largestOf,
  nextSort,
  titleOf,
  widthsOf,
} from "./columns";
import { csvOf } from "./csv";
import { Branch, Cell, CopyButton, Gap } from "./parts";
import { shownRows, unknownColumns } from "./rows";
import { kTreeColumns, Tree } from "./tree";
import { usePrinting, useVisible } from "./visible";

const kPrinted = 1000; // rows: more make hundreds of pages
const kOpenRows = 60; // of a tree: as many levels are open at first as have no more rows

interface Props {
  table: Table;
  id?: string; // in the address: "" for the main table of a view
  label: string; // its name for screen readers, and of its CSV
  tree?: boolean; // rows hang on each other, see tree.ts; #<id>.levels=N: how many levels are open, or "all"
  root?: number; // of a tree: the row at the top, -1: all that have none
  sort?: string; // else by what the document is sorted by
  hidden?: string[]; // columns that are shown only when chosen, besides those without a value
  bars?: string[]; // columns whose cells have bars, by their largest value; shares have them anyway
  keep?: (row: number) => boolean; // chosen by controls of the view
  controls?: ComponentChildren; // of the view, before the search
  searchIn?: string[]; // columns in which words are searched, else all texts
  searchHint?: string;
  expand?: (row: number) => ComponentChildren; // what lies below a row
  canExpand?: (row: number) => boolean;
  expandTitle?: string;
  pick?: Pick;
  nested?: boolean; // below a row of another table: no tools, no search
  briefStacks?: boolean; // call stacks in one line
  notes?: (note: string) => boolean; // which are shown below; all unless said
  empty?: string; // what is said where there are no rows at all
}

// One row may be chosen, by its button or by a click anywhere in it.
export interface Pick {
  title: string; // what choosing it does
  row: number | undefined;
  set: (row: number | undefined) => void;
}

export function DataTable({
  table,
  id = "",
  label,
  tree: isTree = false,
  root = -1,
  sort: sortGiven,
  hidden = [],
  bars = [],
  keep,
  controls,
  searchIn,
  searchHint,
  expand,
  canExpand,
  expandTitle = "Details",
  pick,
  briefStacks = false,
  nested = false,
  notes,
  empty = "Nothing to show.",
}: Props) {
  const { params } = useParams();
  const param = (name: string) => (id ? `${id}.${name}` : name);
  const sortOtherwise = sortGiven ?? String(at(`${table.at}/sort`) ?? "");
  const [search, setSearch] = useParam(param("q"));
  const [sort, setSort] = useParam(param("sort"), sortOtherwise);
  const [chosen, setChosen] = useParam(param("cols"));
  const [open, setOpen] = useState<Set<number>>(new Set());
  const [levels, setLevels] = useParam(param("levels"));
  const [turned, setTurned] = useState<Set<number>>(new Set()); // branches that are not as `levels` says
  const printing = usePrinting();
  const everything = params.rows === "all" || printing;

  const tree = useMemo(() => (isTree ? new Tree(table) : undefined), [table, isTree]);
  const level = (row: number) => tree!.depth[row] - (root < 0 ? 0 : tree!.depth[root]);
  const atFirst = useMemo(() => tree?.levelsWithin(tree.below(root), kOpenRows) ?? 0, [tree, root]);
  const openTo = everything || levels === "all" ? Infinity : levels ? Number(levels) : atFirst;
  const isOpen = (row: number) => (search !== "" || level(row) < openTo) !== turned.has(row);
  const valued = useMemo(() => table.columns.filter((c) => hasValues(table, c)), [table]);
  const columns = useMemo(
    () =>
      chosenColumns(
        table,
        valued,
        params.columns === "all" ? "all" : chosen,
        isTree ? [...hidden, ...kTreeColumns] : hidden,
      ),
    [table, valued, params.columns, chosen, hidden.join()],
  );
  const rows = useMemo(() => {
    const found = shownRows(table, search, sort, keep, searchIn);
    return tree ? tree.shown(shownRows(table, "", sort), found, isOpen, root) : found;
  }, [table, search, sort, keep, tree, root, openTo, turned]);
  const { widths, elastic } = useMemo(
    () => widthsOf(table, columns, briefStacks, keep, tree),
    [table, columns, briefStacks, keep, tree],
  );
  const largest = useMemo(() => largestOf(table, columns, bars), [table, columns]);
  useEffect(() => setOpen(new Set()), [table]);
  useEffect(() => setTurned(new Set()), [table, levels, search === ""]);

  const toggled = (rows: Set<number>, row: number) => {
    const next = new Set(rows);
    if (!next.delete(row)) next.add(row);
    return next;
  };
  const { scroller, first, last, above, below, measured } = useVisible(rows, open, everything || nested);
  const opens = (row: number) => expand !== undefined && (!canExpand || canExpand(row));
  const leading = (expand ? 1 : 0) + (pick ? 1 : 0); // columns of buttons
  const [sortKey, sortWay] = sort.split(":");
  const isUp = (c: Column) => (sortWay === undefined ? c.unit === "text" || c.unit === "yes/no" : sortWay === "up");

  if (table.leftOutBytes > 0)
    return (
      <p class="empty">
        These {table.n || ""} rows are not in this page, which would have grown too large (--max-size).
      </p>
    );
  return (
    <div class={nested ? "table nested" : "table"}>
      {!nested && (
        <div class="tools">
          {controls}
          {table.n > 0 && (
            <input
              type="search"
              class="search"
              aria-label={`Search in ${label}`}
              value={search}
              placeholder={hintOf(searchHint ?? "Search", columns)}
              title={
                'Words that a row must hold, "two words" together, and comparisons of columns, ' +
                "which are named by their titles without blanks: selfcpu>5ms"
              }
              onInput={(e) => setSearch(e.currentTarget.value)}
            />
          )}
          <span class="count" role="status">
            {rows.length !== table.n && (
              <>
                <Derived rule="rows that are shown" value={rows.length} unit="count" /> of{" "}
              </>
            )}
            <Figure at={table.count} value={table.n} unit="count" options={table.options} /> row
            {table.n === 1 ? "" : "s"}
          </span>
          {tree && tree.depth.some((depth) => depth > 0) && (
            <>
              <button
                type="button"
                aria-pressed={levels === "all"}
                onClick={() => {
                  setLevels("all");
                  setTurned(new Set());
                }}>
                Expand all
              </button>
              <button
                type="button"
                aria-pressed={levels === "0"}
                onClick={() => {
                  setLevels("0");
                  setTurned(new Set());
                }}>
                Collapse all
              </button>
            </>
          )}
          {table.n > 0 && (
            <>
              <Menu label="Columns">
                {table.columns.map((c) => (
                  <label class="choice" title={texts[c.key]}>
                    <input
                      type="checkbox"
                      checked={columns.includes(c)}
                      onChange={() => setChosen(chosenWith(columns, c, table.columns))}
                    />
                    {fullTitle(table, c)}
                    {!valued.includes(c) && <span class="muted"> no values</span>}
                  </label>
                ))}
                {chosen && (
                  <button type="button" onClick={() => setChosen("")}>
                    Reset
                  </button>
                )}
              </Menu>
              <CopyButton text={() => csvOf(table, columns, rows)} />
            </>
          )}
        </div>
      )}
      {table.n === 0 ? (
        <p class="empty">{empty}</p>
      ) : (
        <div class="scroller" ref={scroller} tabIndex={nested ? undefined : 0} role="region" aria-label={label}>
          <table
            role={tree ? "treegrid" : undefined}
            aria-rowcount={rows.length + 1}
            aria-label={label}
            ref={widthIn(`${columns.reduce((sum, c) => sum + widths[c.key], 2.4 * leading)}ch`)}>
            <colgroup>
              {pick && <col ref={widthIn("2.4ch")} />}
              {expand && <col ref={widthIn("2.4ch")} />}
              {columns.map((c) => (
                <col key={c.key} ref={widthIn(c === elastic ? "auto" : `${widths[c.key]}ch`)} />
              ))}
              <col ref={widthIn(elastic ? "0" : "auto")} />
            </colgroup>
            <thead>
              <tr aria-rowindex={1}>
                {pick && (
                  <th class="expander">
                    <span class="hidden">{pick.title}</span>
                  </th>
                )}
                {expand && (
                  <th class="expander">
                    <span class="hidden">{expandTitle}</span>
                  </th>
                )}
                {columns.map((c) => (
                  <th
                    key={c.key}
                    class={isNumber(c) ? "number" : c === columns[0] ? "first" : undefined}
                    scope="col"
                    title={texts[c.key] ?? fullTitle(table, c)}
                    aria-sort={sortKey === c.key ? (isUp(c) ? "ascending" : "descending") : "none"}>
                    <button type="button" onClick={() => setSort(nextSort(c, sortKey, isUp(c), sortOtherwise))}>
                      {titleOf(c)}
                      <span class="arrow" aria-hidden="true">
                        {sortKey === c.key ? (isUp(c) ? "▲" : "▼") : ""}
                      </span>
                    </button>
                  </th>
                ))}
                <th aria-hidden="true"></th>
              </tr>
            </thead>
            <tbody>
              {above > 0 && <Gap height={above} />}
              {(printing ? rows.slice(0, kPrinted) : rows.slice(first, last)).map((row, i) => (
                <Fragment key={row}>
                  <tr
                    aria-rowindex={first + i + 2}
                    aria-level={tree ? level(row) + 1 : undefined}
                    aria-expanded={tree && !tree.isLeaf[row] ? isOpen(row) : undefined}
                    class={
                      open.has(row) ? "open opens" : pick?.row === row ? "picked" : opens(row) ? "opens" : undefined
                    }
                    onClick={
                      !pick && !opens(row)
                        ? undefined
                        : (e) => clicked(e.target as Element) && (pick ? pick.set(row) : setOpen(toggled(open, row)))
                    }>
                    {pick && (
                      <td class="expander">
                        <button
                          type="button"
                          aria-pressed={pick.row === row}
                          title={pick.title}
                          aria-label={`${pick.title}: ${table.text(row, columns[0]?.key ?? "")}`}
                          onClick={() => pick.set(pick.row === row ? undefined : row)}>
                          {pick.row === row ? "●" : "○"}
                        </button>
                      </td>
                    )}
                    {expand && (
                      <td class="expander">
                        {opens(row) && (
                          <button
                            type="button"
                            aria-expanded={open.has(row)}
                            title={expandTitle}
                            aria-label={`${expandTitle}: ${table.text(row, columns[0]?.key ?? "")}`}
                            onClick={() => setOpen(toggled(open, row))}>
                            {open.has(row) ? "▾" : "▸"}
                          </button>
                        )}
                      </td>
                    )}
                    {columns.map((c, k) =>
                      k === 0 && tree ? (
                        <Branch
                          key={c.key}
                          table={table}
                          tree={tree}
                          level={level(row)}
                          row={row}
                          column={c}
                          open={isOpen(row)}
                          onToggle={() => setTurned(toggled(turned, row))}
                        />
                      ) : (
                        <Cell
                          key={c.key}
                          table={table}
                          row={row}
                          column={c}
                          first={k === 0}
                          largest={largest[c.key]}
                          briefStacks={briefStacks}
                        />
                      ),
                    )}
                    <td></td>
                  </tr>
                  {expand && open.has(row) && (
                    <tr class="below" ref={(element) => measured(row, element)}>
                      <td colSpan={columns.length + 1 + leading}>{expand(row)}</td>
                    </tr>
                  )}
                </Fragment>
              ))}
              {below > 0 && <Gap height={below} />}
            </tbody>
          </table>
          {rows.length === 0 && (
            <p class="empty">
              No row matches.{" "}
              {unknownColumns(table, search).map((name) => (
                <>
                  There is no column “<bdi>{name}</bdi>”.{" "}
                </>
              ))}
              <button type="button" onClick={() => setSearch("")}>
                Clear the search
              </button>
            </p>
          )}
        </div>
      )}
      {printing && rows.length > kPrinted && (
        <p class="notes">
          The first <Derived rule="rows that are printed" value={kPrinted} unit="count" /> rows; “Copy as CSV” has all.
        </p>
      )}
      {!nested && table.notes.some((note) => !notes || notes(note)) && (
        <ul class="notes">
          {table.notes.map(
            (note, i) =>
              (!notes || notes(note)) && (
                <li>
                  <Said at={`${table.at}/notes/${i}`} text={note} options={table.options} />
                </li>
              ),
          )}
        </ul>
      )}
    </div>
  );
}

// Not where a button or a link was meant, or a text is being selected.
const clicked = (target: Element) => !target.closest("button, a") && !getSelection()?.toString();

// The page forbids style attributes; this is the way through the DOM.
const widthIn = (width: string) => (element: HTMLElement | null) => {
  if (element) element.style.width = width;
};
