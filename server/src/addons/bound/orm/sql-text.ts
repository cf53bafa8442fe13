/** Names and values as they stand in SQL. */

/** A column or a role as SQL has it. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const literal = (value: string | number): string =>
  typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`
