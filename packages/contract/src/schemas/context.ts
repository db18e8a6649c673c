import { type Static, Type } from './type.ts'
import { Bytes32, closed } from './primitives.ts'

/**
 * Control, bidi-override and zero-width characters are refused: what the phone shows must be what a
 * person reads, and nothing must reorder or hide a part of it.
 */
const VISIBLE =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]*$'

/** What the person is asked to approve, made by the backend from its own record. The phone signs its hash. */
export const SessionContext = closed({
  display: Type.Array(
    closed({
      label: Type.String({ minLength: 1, maxLength: 64, pattern: VISIBLE }),
      value: Type.String({ maxLength: 256, pattern: VISIBLE }),
    }),
    { maxItems: 8 },
  ),
  digest: Type.Optional(Bytes32),
})
export type SessionContext = Static<typeof SessionContext>
