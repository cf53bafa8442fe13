/** Reads the shape of a ledger's tables in SQLite. It writes nothing. */
import { type FoundTable, LEDGER_TABLES } from './shape.js'
import { type Run, statement } from './statements.js'

interface Row {
  name: string
  kind: 'table' | 'view'
  sql: string
  /** Texts as JSON. */
  triggers: string
  parts: string
}

const NAMES = LEDGER_TABLES.map((name) => `'${name}'`)

const TABLES_IN = `
  SELECT lower(m.name) AS "name", m.type AS "kind", m.sql AS "sql",
    (SELECT json_group_array(t.name) FROM main.sqlite_master t
     WHERE t.type = 'trigger' AND lower(t.tbl_name) = lower(m.name)) AS "triggers",
    (SELECT json_group_array(part) FROM (
      SELECT c.name || ' ' || upper(c.type) || iif(c."notnull", ' NOT NULL', '') AS part
      FROM pragma_table_xinfo(m.name, 'main') c WHERE c.hidden = 0
      UNION ALL SELECT 'UNIQUE (' || (SELECT group_concat(k.name, ', ') FROM
        (SELECT name FROM pragma_index_info(i.name, 'main') ORDER BY name) k) || ')'
      FROM pragma_index_list(m.name, 'main') i WHERE i."unique" AND NOT i.partial)) AS "parts"
  FROM main.sqlite_master m WHERE m.type IN ('table', 'view') AND lower(m.name) IN (${NAMES})`

export const tablesIn = (run: Run): FoundTable[] =>
  run<Row>(statement(TABLES_IN)).map(({ name, kind, sql, triggers, parts }) => ({
    name,
    oddities: [
      ...(kind === 'view' ? ['is a view: drop it, and put the table in its place'] : []),
      ...(/^CREATE VIRTUAL/i.test(sql) ? ['is a virtual table: put a plain one in its place'] : []),
      ...(JSON.parse(triggers) as string[]).map(
        (trigger) => `has the trigger ${trigger}, which may undo what the server does: drop it`,
      ),
    ],
    parts: [
      ...JSON.parse(parts),
      ...[...sql.matchAll(/CHECK \((\w+) BETWEEN 0 AND \d+\)/gi)].map(
        ([, column]) => `CHECK (${column})`,
      ),
    ],
  }))
