import {
  escapeHidden,
  hasDirectionalMark,
  matchLanguage,
  type PhoneSession,
  sanitizeDisplayLines,
  sanitizeDisplayText,
  sanitizeDisplayValue,
  type Titles,
} from '@bonded/contract'

/**
 * The request that the user decides on: tenant, page and purpose. It is safe to show: each hidden
 * character is replaced by U+FFFD. Draw each label and value isolated: see `isolatesValues`.
 */
export interface ShownRequest {
  readonly tenant_name: string
  /**
   * The page's origin, as reported by the browser; null until a page has presented the watch token.
   */
  readonly requesting_origin: string | null
  readonly workflow: string | null
  readonly action: string | null
  /** Titles by language, from the tenant's configuration. */
  readonly workflow_title: Titles | null
  readonly action_title: Titles | null
  /** For whom the tenant asks, as the tenant says. Show it first. */
  readonly requester: ShownRequester | null
  readonly display: readonly { readonly label: string; readonly value: string }[]
  /**
   * Lines that the user reads to their end. Draw them in a fixed width, each with its number, from
   * left to right, and wrap long ones. Isolate each run of right-to-left text.
   */
  readonly text: string | null
  /**
   * How many people must approve, of those who are asked: this user and others. Say so before the
   * user decides. Null where one user approves.
   */
  readonly quorum: { readonly needed: number; readonly of: number } | null
  /** How long the user has left to decide, in milliseconds. */
  readonly expires_in_ms: number
}

/** For whom a tenant asks: a `person`, `service` or `agent`. A later service may name others. */
export interface ShownRequester {
  readonly kind: string
  readonly name: string
  readonly detail: string | null
}

/**
 * The request of a session, for a screen. The service rejects hidden and stacked characters. The
 * phone replaces them too, so that the displayed text does not depend on the service alone.
 */
export function requestOf(session: PhoneSession): ShownRequest {
  const { tenant_name, requesting_origin, workflow, action, context, expires_in_ms } = session
  const { requester, text, quorum } = context ?? {}
  return {
    tenant_name: sanitizeDisplayText(tenant_name),
    requesting_origin: requesting_origin === null ? null : sanitizeDisplayText(requesting_origin),
    workflow: workflow === null ? null : sanitizeDisplayText(workflow),
    action: action === null ? null : sanitizeDisplayText(action),
    workflow_title: sanitizeTitles(session.workflow_title),
    action_title: sanitizeTitles(session.action_title),
    requester: requesterOf(requester),
    text: text === undefined ? null : sanitizeDisplayLines(text),
    quorum: quorum === undefined ? null : { needed: quorum.needed, of: quorum.of },
    display: (context?.display ?? []).map(({ label, value }) => ({
      label: sanitizeDisplayText(label),
      value: sanitizeDisplayValue(value),
    })),
    expires_in_ms,
  }
}

type Requester = NonNullable<NonNullable<PhoneSession['context']>['requester']>

/** A requester for a screen. */
export function requesterOf(requester: Requester | null | undefined): ShownRequester | null {
  if (!requester) return null
  const { kind, name, detail } = requester
  return {
    kind,
    name: sanitizeDisplayText(name),
    detail: detail === undefined ? null : sanitizeDisplayValue(detail),
  }
}

/** The titles of a workflow or an action for a screen. */
export function sanitizeTitles(titles: Titles | null): Titles | null {
  return (
    titles &&
    Object.fromEntries(
      Object.entries(titles).map(([language, title]) => [language, sanitizeDisplayText(title)]),
    )
  )
}

/**
 * What the request is for, in the first of the user's languages that has a title. Without titles it
 * is the readable form of the machine names, and null where `display` says what the request is.
 *
 * @param languages the user's languages, such as `navigator.languages`
 * @example purposeOf(request, ['de-AT', 'en']) // 'Kreditantrag · Antrag einreichen'
 */
export function purposeOf(
  {
    workflow,
    action,
    workflow_title,
    action_title,
    display,
  }: Pick<ShownRequest, 'workflow' | 'action' | 'workflow_title' | 'action_title' | 'display'>,
  languages: readonly string[],
): string | null {
  const titles = [workflow_title, action_title].flatMap((each) => titleIn(each, languages) ?? [])
  if (titles.length > 0) return titles.join(' · ')
  if (display.length > 0) return null
  const names = [workflow, action].filter((name) => name !== null)
  return names.map((name) => name.replaceAll(/[._-]+/g, ' ')).join(' · ') || null
}

/** The title in the first of the languages that has one, else in English, else any. */
function titleIn(titles: Titles | null, languages: readonly string[]): string | undefined {
  const found = titles ?? {}
  const tags = Object.keys(found)
  return found[matchLanguage([...languages, 'en'], tags) ?? tags[0] ?? '']
}

/** The width of a usual terminal. */
const TERMINAL_COLUMNS = 80
const LEAST_COLUMNS = 10
/** Characters that terminals draw two columns wide: those of East Asia, and emoji. */
const WIDE =
  /[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\uff60\u{1f000}-\u{3ffff}]/u

/**
 * Lines of a value. A terminal would continue a long value in its first column, where it could
 * imitate a row.
 */
function wrap(value: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  let used = 0
  for (const character of value) {
    const width = WIDE.test(character) ? 2 : 1
    if (used + width > columns) {
      lines.push(line)
      line = ''
      used = 0
    }
    line += character
    used += width
  }
  return [...lines, line]
}

/** A terminal isolates nothing, so it shows directional marks and does not apply them. */
const escapeMarks = (value: string) => (hasDirectionalMark(value) ? escapeHidden(value) : value)

/**
 * The same as plain text, for a terminal of 80 columns. A longer value goes on below itself, beside
 * a line, so that it cannot imitate a row.
 *
 * @example
 * describeRequest(session)
 * // Example Bank asks for your approval.
 * //   Page:     https://bank.example (reported by the browser)
 * //   Amount:   € 12,500.00
 * // Approve only if you started this yourself, just now, on that page.
 */
export function describeRequest(session: PhoneSession): string {
  const request = requestOf(session)
  const { tenant_name, requesting_origin } = request
  const { requester, text, quorum } = request
  const display = request.display.map(({ label, value }) => ({ label, value: escapeMarks(value) }))
  const purpose = purposeOf(request, ['en'])
  const details = requester?.detail ? ` – ${escapeMarks(requester.detail)}` : ''
  const rows: [string, string][] = [
    ...(requester === null
      ? []
      : [['Requester', `${requester.kind}: ${requester.name}${details}`] as [string, string]]),
    [
      'Page',
      requesting_origin === null ? 'not known' : `${requesting_origin} (reported by the browser)`,
    ],
    ...(purpose === null ? [] : [['Purpose', purpose] as [string, string]]),
    ...display.map(({ label, value }): [string, string] => [label, value]),
  ]
  const width = Math.max(...rows.map(([label]) => label.length)) + 1
  const columns = Math.max(LEAST_COLUMNS, TERMINAL_COLUMNS - width - 6)
  const drawn = (name: string, value: string) => {
    const [first = '', ...others] = wrap(value, columns)
    const continued = others.map((line) => `\n  ${' '.repeat(width)}│ ${line}`)
    return `  ${name.padEnd(width)}  ${first}${continued.join('')}`
  }
  const numbered = text === null ? [] : text.split('\n')
  return [
    `${tenant_name} asks for your approval.`,
    ...rows.map(([label, value]) => drawn(`${label}:`, value)),
    ...numbered.map((line, index) => drawn(String(index + 1).padStart(width), line)),
    ...(quorum === null
      ? []
      : [`${quorum.needed} of ${quorum.of} people must approve. You are one of them.`]),
    requesting_origin === null
      ? 'Approve only if you expect this request and agree with every detail.'
      : 'Approve only if you started this yourself, just now, on that page.',
  ].join('\n')
}
