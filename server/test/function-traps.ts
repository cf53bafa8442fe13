/** Functions that take the place of PostgreSQL's own, where a path has their schema before it. */
import { runSql } from './postgres-cluster.js'

/** A copy of each function, as far as PL/pgSQL can have it, that fails. */
const TRAPS = `
  CREATE SCHEMA traps;
  DO $do$ DECLARE own record; BEGIN
    FOR own IN SELECT proname AS name, pg_get_function_identity_arguments(oid) AS arguments,
        pg_get_function_result(oid) AS result
      FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f'
        AND NOT proargtypes::oid[] && ARRAY['internal'::regtype, 'cstring'::regtype]::oid[]
    LOOP
      BEGIN
        EXECUTE format('CREATE FUNCTION traps.%I (%s) RETURNS %s LANGUAGE plpgsql AS
          $$ BEGIN RAISE ''%s is a trap''; END $$', own.name, own.arguments, own.result, own.name);
      EXCEPTION WHEN OTHERS THEN END;
    END LOOP;
  END $do$`

/** With this path, a function that is named without its schema is a trap. */
export const TRAPPED_PATH = 'SET search_path TO traps, pg_catalog'

export const makeTraps = (databaseUrl: string): Promise<unknown> => runSql(databaseUrl, TRAPS)
