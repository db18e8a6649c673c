import * as z from 'zod/v4'
import { GateError } from '../errors.ts'

/** Values that JSON does not have, by the names of Zod. */
const NOT_JSON: ReadonlySet<string> = new Set(['bigint', 'date', 'file', 'map', 'nan', 'set'])

/**
 * The user reads the arguments as JSON, and the SDK describes them as such: a date in one tool
 * would fail each of its calls, and the list of all tools of the server.
 *
 * @throws {GateError} `invalid_configuration`
 */
export function rejectOtherThanJson(shape: z.ZodRawShape): void {
  for (const io of ['input', 'output'] as const)
    z.toJSONSchema(z.object(shape), {
      io,
      unrepresentable: 'any',
      override({ zodSchema: { _zod: zod }, path }) {
        if (!NOT_JSON.has(zod.def.type)) return
        const [, name = ''] = path
        throw new GateError(
          'invalid_configuration',
          `The argument ${name} of a tool is a ${zod.def.type}, which JSON does not have. Take a text or a number, and convert it in run.`,
        )
      },
    })
}
