// What hyparquet and DuckDB find in an export of Parquet files: node read.mjs DIRECTORY
//
// Prints {"hyparquet": {TABLE: SUMS}, "duckdb": {TABLE: SUMS}, "views": {VIEW: [row]}, "metadata": {TABLE: {...}}}.
// SUMS: {"rows": N, "columns": {COLUMN: [values that are not null, their sum]}}; of texts the sum of their bytes, of
// whole numbers an exact sum as text. The views are those of views.sql, read by DuckDB.
import { DuckDBInstance } from '@duckdb/node-api';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';

const directory = process.argv[2];
const compressors = { GZIP: (bytes) => zlib.gunzipSync(bytes) };
const metadata = {};

function filesBelow(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const here = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(here) : [here];
  });
}

function add(sums, column, value) {
  const sum = (sums[column] ??= [0, null]);
  if (value === null || value === undefined) return;
  sum[0]++;
  if (typeof value === 'string') sum[1] = (sum[1] ?? 0n) + BigInt(Buffer.byteLength(value));
  else sum[1] = sum[1] === null ? value : sum[1] + value;
}

async function byHyparquet(table) {
  const out = { rows: 0, columns: {} };
  for (const name of filesBelow(path.join(directory, table))) {
    const [, job, rank] = name.match(/job=([^/]*)\/rank=([^/]*)\/part-\d+\.parquet$/);
    const file = await asyncBufferFromFile(name);
    const facts = await parquetMetadataAsync(file);
    const about = (metadata[table] ??= { keys: {}, groups: 0 });
    for (const { key, value } of facts.key_value_metadata) about.keys[key] = value;
    about.groups = Math.max(about.groups, facts.row_groups.length);
    const rows = await parquetReadObjects({ file, metadata: facts, compressors });
    const noRank = rank === '__HIVE_DEFAULT_PARTITION__';
    const partition = { job: decodeURIComponent(job), rank: noRank ? null : BigInt(rank) };
    for (const column of ['job', 'rank', ...facts.schema.slice(1).map((element) => element.name)])
      out.columns[column] ??= [0, null];
    for (const row of rows) {
      for (const [column, value] of Object.entries(partition)) add(out.columns, column, value);
      for (const [column, value] of Object.entries(row)) add(out.columns, column, value);
    }
    out.rows += rows.length;
  }
  for (const sum of Object.values(out.columns)) if (typeof sum[1] === 'bigint') sum[1] = String(sum[1]);
  return out;
}

const plain = (value) => (typeof value === 'bigint' ? String(value) : value);

async function byDuckdb(connection, table) {
  const all = async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJS();
  const columns = await all(`DESCRIBE ${table}`);
  const parts = columns.map(({ column_name: name, column_type: type }, i) => {
    const value = type === 'VARCHAR' ? `strlen(${name})` : name;
    return `count(${name}) AS n${i}, ${type === 'DOUBLE' ? `sum(${value})` : `sum(${value})::VARCHAR`} AS s${i}`;
  });
  const [row] = await all(`SELECT count(*) AS n, ${parts.join(', ')} FROM ${table}`);
  const sums = columns.map(({ column_name: name }, i) => [name, [Number(row[`n${i}`]), row[`s${i}`]]]);
  return { rows: Number(row.n), columns: Object.fromEntries(sums) };
}

const tables = fs.readdirSync(directory, { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => e.name);
const out = { hyparquet: {}, duckdb: {}, views: {}, metadata };
for (const table of tables) out.hyparquet[table] = await byHyparquet(table);
const connection = await (await DuckDBInstance.create()).connect();
await connection.run(`SET file_search_path = '${directory.replaceAll("'", "''")}'`);
await connection.run(fs.readFileSync(path.join(directory, 'views.sql'), 'utf8'));
for (const table of tables) out.duckdb[table] = await byDuckdb(connection, table);
const views = await connection.runAndReadAll("SELECT view_name FROM duckdb_views() WHERE NOT internal");
for (const [view] of views.getRowsJS()) {
  if (tables.includes(view)) continue;
  out.views[view] = (await connection.runAndReadAll(`SELECT * FROM ${view}`)).getRowsJS().map((row) => row.map(plain));
}
console.log(JSON.stringify(out));
