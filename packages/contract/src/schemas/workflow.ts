import { type Static, Type } from './type.ts'
import { DISPLAY_TEXT } from '../display-text.ts'
import { DeviceFormat } from './device.ts'
import { QUORUM_NEEDED } from './context.ts'
import { closed, PurposeName, word } from './primitives.ts'

/** The proofs that a workflow can require of a bond. A proof that is not required never blocks. */
export const REQUIREMENTS = [
  'local_auth',
  'carrier',
  'sensor_continuity',
  'band:medium',
  'band:high',
  'browser',
] as const
export const Requirement = word(REQUIREMENTS)
export type Requirement = Static<typeof Requirement>

/**
 * The kinds of proof that a step-up can require: a requirement, or the passport's chip. The
 * browser's proof, `browser`, is none: the page gives it.
 */
export type StepUpKind = Exclude<Requirement, 'browser'> | 'passport_chip'

/** Code points. A phone shows a title in one line. */
export const MAX_TITLE_LENGTH = 64
/** More languages than the service's own pages have. */
const MAX_TITLE_LANGUAGES = 64

/**
 * A title by language (BCP 47), such as `{"en": "Loan application", "de": "Kreditantrag"}`. It is
 * configuration that phones show: they do not sign it.
 */
export const Titles = Type.Unsafe<{ readonly [language: string]: string }>({
  type: 'object',
  minProperties: 1,
  maxProperties: MAX_TITLE_LANGUAGES,
  propertyNames: { pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$' },
  additionalProperties: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_TITLE_LENGTH,
    format: DISPLAY_TEXT,
  },
})
export type Titles = Static<typeof Titles>

/**
 * What a `webauthn` key without attestation can prove (protocol 6): `review` keeps its bonds in the
 * band `low`; `known` lifts those of a known user to `medium`; `accept` starts at `medium`.
 */
export const UNATTESTED = ['review', 'known', 'accept'] as const

/**
 * How a request reaches the phone: `page` by a QR code or a link that a page shows, `inbox` in the
 * list of requests that wait for the user.
 */
export const DELIVERIES = ['page', 'inbox'] as const

const members = {
  name: PurposeName,
  actions: Type.Array(PurposeName, { minItems: 1, maxItems: 64 }),
  title: Type.Optional(Titles),
  /** The titles of each action. */
  action_titles: Type.Optional(
    Type.Unsafe<{ readonly [action: string]: Titles }>({
      type: 'object',
      maxProperties: 64,
      additionalProperties: Titles,
    }),
  ),
  delivery: Type.Optional(word(DELIVERIES)),
  passport: Type.Optional(word(['none', 'optional', 'required'])),
  require: Type.Optional(Type.Array(Requirement, { maxItems: 8 })),
  subject: Type.Optional(word(['optional', 'required'])),
  requester: Type.Optional(word(['optional', 'required'])),
  /** At least so many people approve each request. */
  quorum: Type.Optional(closed({ needed: Type.Integer(QUORUM_NEEDED) })),
  webauthn: Type.Optional(word(['attested', 'seasoned', 'known', 'any'])),
  unattested: Type.Optional(word(UNATTESTED)),
  formats: Type.Optional(Type.Array(DeviceFormat, { minItems: 1, maxItems: 4 })),
  suspect_devices: Type.Optional(word(['refuse', 'allow'])),
  min_key_age_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000 })),
  session_ttl_seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 86_400 })),
  challenge_ttl_seconds: Type.Optional(Type.Integer({ minimum: 5, maximum: 120 })),
  bonded_ttl_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 900 })),
}

/** A workflow as an operator defines it: its actions, and the proofs that a bond needs. */
export const Workflow = closed(members)
export type Workflow = Static<typeof Workflow>

/** The presets by their names, with the members that each consists of. */
export const PRESETS = {
  agent: {
    delivery: 'inbox',
    subject: 'required',
    requester: 'required',
    webauthn: 'seasoned',
    require: ['local_auth'],
  },
} as const satisfies { readonly [name: string]: Partial<Workflow> }

/** A workflow as an operator writes it. A preset is stored as the members that it consists of. */
export const WrittenWorkflow = closed({ ...members, preset: Type.Optional(word(['agent'])) })
export type WrittenWorkflow = Static<typeof WrittenWorkflow>
