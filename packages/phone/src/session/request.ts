import type { PhoneSession } from '@bonded/contract'

/**
 * What the user decides on: which tenant asks, on which page, for what. Safe to show: invisible
 * characters are replaced.
 */
export interface ShownRequest {
  readonly tenant_name: string
  /** The page's origin, as reported by the browser; null until a page has shown itself. */
  readonly requesting_origin: string | null
  readonly workflow: string | null
  readonly action: string | null
  readonly display: readonly { readonly label: string; readonly value: string }[]
  /** How long the user has left to decide, in milliseconds. */
  readonly expires_in_ms: number
}

/**
 * Control, bidi and zero-width characters (the contract's list for a context). The service refuses them;
 * what a person approves must not hang on that.
 */
const INVISIBLE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** What the session asks, for a screen. */
export function requestOf(session: PhoneSession): ShownRequest {
  const { tenant_name, requesting_origin, workflow, action, context, expires_in_ms } = session
  return {
    tenant_name: visible(tenant_name),
    requesting_origin: requesting_origin === null ? null : visible(requesting_origin),
    workflow: workflow === null ? null : visible(workflow),
    action: action === null ? null : visible(action),
    display: (context?.display ?? []).map(({ label, value }) => ({
      label: visible(label),
      value: visible(value),
    })),
    expires_in_ms,
  }
}

/**
 * The same as plain text, for a terminal.
 *
 * @example
 * describeRequest(session)
 * // Example Bank asks for your approval.
 * //   Page:     https://bank.example (reported by the browser)
 * //   Purpose:  wire transfer (approve wire)
 * //   Amount:   € 12,500.00
 * // Approve only if you started this yourself, just now, on that page.
 */
export function describeRequest(session: PhoneSession): string {
  const { tenant_name, requesting_origin, workflow, action, display } = requestOf(session)
  const purpose = [workflow, action && `(${action})`].filter(Boolean).join(' ').replaceAll('_', ' ')
  const rows: [string, string][] = [
    [
      'Page',
      requesting_origin === null ? 'not known' : `${requesting_origin} (reported by the browser)`,
    ],
    ...(purpose === '' ? [] : [['Purpose', purpose] as [string, string]]),
    ...display.map(({ label, value }): [string, string] => [label, value]),
  ]
  const width = Math.max(...rows.map(([label]) => label.length)) + 1
  const lines = rows.map(([label, value]) => `  ${`${label}:`.padEnd(width)}  ${value}`)
  return [
    `${tenant_name} asks for your approval.`,
    ...lines,
    'Approve only if you started this yourself, just now, on that page.',
  ].join('\n')
}

function visible(text: string): string {
  return text.replace(INVISIBLE, '\ufffd')
}
