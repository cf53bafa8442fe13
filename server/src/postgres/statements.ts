/**
 * The SQL of the PostgreSQL ledger. What locks rows locks them in one order, so that two steps
 * never wait for each other. Whatever may be many is one parameter: rows as JSON, keys as one array
 * per column.
 */
import { BINDING_PREFIX } from '../bound/bindings.js'

export const ADD_GRANTS =
  'INSERT INTO hilo_grants SELECT * FROM jsonb_populate_recordset(NULL::hilo_grants, $1)'
export const SAVE_COUNTERS = `
  UPDATE hilo_counters c SET max = n.max, peak = n.peak, floor = n.floor, free = n.free, version = n.version
  FROM jsonb_populate_recordset(NULL::hilo_counters, $1) n WHERE c.database = n.database AND c.tag = n.tag`
export const SAVE_GRANTS = `
  UPDATE hilo_grants g SET high = n.high, issued = n.issued, rotation = n.rotation, check_in = n.check_in
  FROM jsonb_populate_recordset(NULL::hilo_grants, $1) n WHERE g.id = n.id`
export const LOCK_COUNTERS = `
  SELECT c.*, c.tag AS collection, m.value AS binding FROM hilo_counters c LEFT JOIN hilo_meta m ON m.key = '${BINDING_PREFIX}' || c.database || '/' || c.tag
  WHERE (c.database, c.tag) IN (SELECT * FROM unnest($1::text[], $2::text[])) ORDER BY c.database, c.tag FOR UPDATE OF c`
export const ADD_COUNTERS = `
  INSERT INTO hilo_counters SELECT * FROM jsonb_populate_recordset(NULL::hilo_counters, $1) ORDER BY database, tag
  ON CONFLICT DO NOTHING`
export const GRANTS_OF_CLAIMS = `
  SELECT *, tag AS collection FROM hilo_grants WHERE (database, tag, claim) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`
/**
 * By the primary key alone. Were the collection asked for, too, a planner whose statistics are
 * older than the collection would think it tiny, and read all of it instead.
 */
export const GRANTS =
  'SELECT *, tag AS collection FROM hilo_grants WHERE id = ANY($1) ORDER BY id FOR UPDATE'
export const GRANT_OF_RETURN = `
  SELECT *, tag AS collection FROM hilo_grants
  WHERE database = $1 AND tag = $2 AND low <= $3 AND high >= low ORDER BY low DESC LIMIT 1 FOR UPDATE`
export const HELD = `
  SELECT k.database, k.tag AS collection, g.high FROM unnest($1::text[], $2::text[]) k (database, tag), LATERAL
    (SELECT high FROM hilo_grants WHERE database = k.database AND tag = k.tag AND high >= low ORDER BY low DESC LIMIT 1) g`
export const ADD_RETURN = `
  INSERT INTO hilo_returns (database, tag, range_end, range_last, returned_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT DO NOTHING RETURNING 1 AS found`
export const COUNTER =
  'SELECT *, tag AS collection FROM hilo_counters WHERE database = $1 AND tag = $2'
