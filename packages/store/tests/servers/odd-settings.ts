/**
 * Defaults that a role or a database can have, and that the service must not depend on. The
 * databases of the tests have them, so every test of PostgreSQL shows that they have no effect.
 */
export const ODD_SETTINGS: Readonly<Record<string, string>> = {
  array_nulls: 'off',
  backslash_quote: 'on',
  bytea_output: 'escape',
  client_min_messages: 'error',
  DateStyle: 'German, DMY',
  default_text_search_config: 'pg_catalog.simple',
  default_transaction_deferrable: 'on',
  default_transaction_isolation: 'serializable',
  exit_on_error: 'on',
  extra_float_digits: '-15',
  IntervalStyle: 'sql_standard',
  quote_all_identifiers: 'on',
  row_security: 'off',
  standard_conforming_strings: 'off',
  synchronous_commit: 'local',
  TimeZone: 'Asia/Kathmandu',
  transform_null_equals: 'on',
}

/** SQL that sets these defaults for a database. */
export function oddDefaultsOf(database: string): string {
  return Object.entries(ODD_SETTINGS)
    .map(([name, value]) => `alter database "${database}" set ${name} = ${valueOf(value)}`)
    .join(';')
}

/** A value with a comma is a list. */
function valueOf(text: string): string {
  return text
    .split(', ')
    .map((each) => `'${each}'`)
    .join(', ')
}
