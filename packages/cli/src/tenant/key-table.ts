import { table } from '../program/output.ts'

/** Tells an operator what the keys of phones prove in a workflow without own rules (protocol 6). */
export const KEY_TABLE: readonly string[] = [
  'What a phone’s key proves, unless a workflow sets `webauthn` or `unattested`:',
  '',
  ...table(
    ['KEY', 'FIRST VISIT', 'KNOWN USER'],
    [
      row('attested: App Attest, Android, or such a passkey', 'by its score', 'by its score'),
      row('passkey without attestation', 'low: the gate sends it to review', 'medium: accepted'),
      row('software', 'sandbox only', 'sandbox only'),
    ],
    '',
  ),
  '',
  'A user is known if the session names them (subject_ref), and the key is a day old or the tenant',
  'has completed a session of it. A verified phone number or a passport’s chip makes a first visit',
  'medium. With `webauthn: attested`, a workflow rejects passkeys without attestation, among them',
  'those of all iPhones.',
]

function row(key: string, first: string, known: string) {
  return { KEY: key, 'FIRST VISIT': first, 'KNOWN USER': known }
}
