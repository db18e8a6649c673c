/**
 * The settings of a session that change what a statement of the store means, or how its result
 * reads. A role or a database can have other defaults. Each connection asks for these values at its
 * start. A pooler may drop the request, so the check of a new connection compares them as well.
 */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  // A null in a list would be the text NULL.
  array_nulls: 'on',
  // Keys and hashes would be read wrong.
  bytea_output: 'hex',
  // The warning of a commit that no standby has would not be sent.
  client_min_messages: 'notice',
  // A write that lost against another one would fail, instead of seeing its result.
  default_transaction_isolation: 'read committed',
  // A rejected statement would close the connection.
  exit_on_error: 'off',
  // Times would be rounded.
  extra_float_digits: '1',
  // A backslash in a text would be an escape.
  standard_conforming_strings: 'on',
  // A comparison with null would be true.
  transform_null_equals: 'off',
}

/**
 * Settings that the service must not override, because an administrator uses them to protect data,
 * or only a superuser may change them. A server with another value is rejected.
 */
export const REQUIRED_SETTINGS: Readonly<Record<string, string>> = {
  session_replication_role: 'origin',
  ignore_checksum_failure: 'off',
  zero_damaged_pages: 'off',
}

/** Closes no connection that waits in the pool or listens. A pooler has its own rule. */
const UNLIMITED = { idle_session_timeout: '0' }

/** The startup parameter `options` of a connection. A space in a value is escaped. */
export const SESSION_OPTIONS = Object.entries({ ...SESSION_SETTINGS, ...UNLIMITED })
  .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
  .join(' ')

/** A protocol violation, a feature that is not supported, an unknown parameter. */
const NO_OPTIONS: readonly unknown[] = ['08P01', '0A000', '42704']

/** Whether a pooler or an old server has refused a connection because of its options. */
export function refusesOptions(failure: unknown): boolean {
  return failure instanceof Error && 'code' in failure && NO_OPTIONS.includes(failure.code)
}
