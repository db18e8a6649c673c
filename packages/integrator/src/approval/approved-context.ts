import { canonicalJson, type GivenContext } from '@bonded/contract'
import { bindingDigest, rejectUnsafeIntegers } from '../binding-digest.ts'
import { cleanDisplay } from '../display-text.ts'
import { GateError } from '../errors.ts'
import { deepFreeze } from '../verbs/deep-freeze.ts'
import { ApprovalError } from './errors.ts'
import { escapeLookalikes } from './lookalikes.ts'
import { describeInEnglish, type EarlierRequest, type Pair } from './repeated-request.ts'
import { requestText } from './request-text.ts'

/** For whom you ask. The phone shows it first. */
export type Requester = NonNullable<GivenContext['requester']>

/** What the text of a request is made of. */
export interface DescribedAction<Args extends object> {
  readonly action: string
  /** Raise it when the meaning of the action changes: earlier approvals then run no more. */
  readonly version: string
  /**
   * What the user reads before the arguments: one to seven pairs, of the arguments alone, because
   * they are made again when the action runs.
   */
  readonly describe: (args: Args) => GivenContext['display']
  /** The pair of a repeated request, in the language of your users. Default: in English. */
  readonly describeRepeat?: (earlier: EarlierRequest) => Pair
}

/** The context that a user approves, and the frozen arguments that it shows. */
export async function contextOf<Args extends object>(
  { action, version, describe, describeRepeat = describeInEnglish }: DescribedAction<Args>,
  args: Args,
  { requester, repeats }: { readonly requester: Requester; readonly repeats?: Pair | undefined },
) {
  const approved = frozenCopy(args)
  // Every request leaves space for the pair of a repeated one, which could fail only then.
  const pair = repeats ?? describeRepeat({ outcome: 'done', agoMs: 0 })
  const shown = checked(checked([...describe(approved), pair]).map(withoutLookalikes))
  const pairs = shown.slice(0, -1)
  const display = [...(repeats === undefined ? [] : shown.slice(-1)), ...pairs]
  const digest = await bindingDigest({ action, version, args: approved })
  const { name, detail } = requester
  const asker =
    typeof detail === 'string'
      ? { ...requester, detail: withoutLookalikes({ label: name, value: detail }).value }
      : requester
  return { approved, context: { display, requester: asker, text: requestText(approved), digest } }
}

function checked(pairs: GivenContext['display']): GivenContext['display'] {
  const cleaned = cleanDisplay(pairs)
  if ('display' in cleaned) return cleaned.display
  throw new GateError('invalid_request', 'describe returned a pair that no phone may show.', {
    param: cleaned.param,
  })
}

/** The value is judged in one line with its label, which is in the language of the user. */
function withoutLookalikes({ label, value }: GivenContext['display'][number]) {
  const [, escaped = ''] = escapeLookalikes(`${label}\n${value}`).split('\n')
  return { label, value: escaped }
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
