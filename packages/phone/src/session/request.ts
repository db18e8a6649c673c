import { type PhoneSession, sanitizeDisplayText } from '@bonded/contract'

/**
 * The request that the user decides on: tenant, page and purpose. It is safe to show: each hidden
 * character is replaced by U+FFFD.
 */
export interface ShownRequest {
  readonly tenant_name: string
  /**
   * The page's origin, as reported by the browser; null until a page has presented the watch token.
   */
  readonly requesting_origin: string | null
  readonly workflow: string | null
  readonly action: string | null
  readonly display: readonly { readonly label: string; readonly value: string }[]
  /** How long the user has left to decide, in milliseconds. */
  readonly expires_in_ms: number
}

/**
 * The request of a session, for a screen. The service rejects hidden and stacked characters. The
 * phone replaces them too, so that the displayed text does not depend on the service alone.
 */
export function requestOf(session: PhoneSession): ShownRequest {
  const { tenant_name, requesting_origin, workflow, action, context, expires_in_ms } = session
  return {
    tenant_name: sanitizeDisplayText(tenant_name),
    requesting_origin: requesting_origin === null ? null : sanitizeDisplayText(requesting_origin),
    workflow: workflow === null ? null : sanitizeDisplayText(workflow),
    action: action === null ? null : sanitizeDisplayText(action),
    display: (context?.display ?? []).map(({ label, value }) => ({
      label: sanitizeDisplayText(label),
      value: sanitizeDisplayText(value),
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
