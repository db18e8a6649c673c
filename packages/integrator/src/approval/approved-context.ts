import { canonicalJson, type GivenContext } from '@bonded/contract'
import { bindingDigest, rejectUnsafeIntegers } from '../binding-digest.ts'
import { cleanDisplay } from '../display-text.ts'
import { GateError } from '../errors.ts'
import { deepFreeze } from '../verbs/deep-freeze.ts'
import { ApprovalError } from './errors.ts'
import { requestText } from './request-text.ts'

/** For whom you ask. The phone shows it first. */
export type Requester = NonNullable<GivenContext['requester']>

/** What the text of a request is made of. */
export interface DescribedAction<Args extends object> {
  readonly action: string
  /** Raise it when the meaning of the action changes: earlier approvals then run no more. */
  readonly version: string
  /**
   * What the user reads before the arguments: one to eight pairs, of the arguments alone, because
   * they are made again when the action runs.
   */
  readonly describe: (args: Args) => GivenContext['display']
}

/** The context that a user approves, and the frozen arguments that it shows. */
export async function contextOf<Args extends object>(
  { action, version, describe }: DescribedAction<Args>,
  args: Args,
  requester: Requester,
) {
  const approved = frozenCopy(args)
  const display = cleanDisplay(describe(approved))
  if ('param' in display)
    throw new GateError('invalid_request', 'describe returned a pair that no phone may show.', {
      param: display.param,
    })
  const digest = await bindingDigest({ action, version, args: approved })
  return { approved, context: { ...display, requester, text: requestText(approved), digest } }
}

/** The arguments as canonical JSON has them, so that no getter and no later change matters. */
function frozenCopy<Args extends object>(args: Args): Args {
  try {
    rejectUnsafeIntegers(args)
    const copy = JSON.parse(canonicalJson(args), rejectProto) as Args
    // Of a list, `describe` could read no member by its name.
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return deepFreeze(copy)
  } catch (cause) {
    throw invalid(String(cause), cause)
  }
  throw invalid('not an object')
}

/** Code that copies such a member would change other members, which the text does not show. */
function rejectProto(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new TypeError('a member is named __proto__')
  return value
}

function invalid(detail: string, cause?: unknown): ApprovalError {
  return new ApprovalError('arguments_invalid', `The arguments are no object of JSON: ${detail}.`, {
    cause,
  })
}
