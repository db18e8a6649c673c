/** The codes that an integrator branches on. */
export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'rate_limited',
  'internal_error',
  'unavailable',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

/** A reason of a rejection. */
export interface ReasonEntry {
  readonly code: ErrorCode
  /** What happened and, where it is not obvious, what to do. Contains no secret. */
  readonly message: string
}

/** The reasons that have a code, each with its message. */
export function coded<Name extends string>(
  code: ErrorCode,
  messages: Readonly<Record<Name, string>>,
): Readonly<Record<Name, ReasonEntry>> {
  return Object.fromEntries(
    Object.entries<string>(messages).map(([name, message]) => [name, { code, message }]),
  ) as Record<Name, ReasonEntry>
}
