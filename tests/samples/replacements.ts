import assert from 'node:assert/strict'
import type { Sample } from './samples.ts'

/** What differs for each reader: how a guide writes it, and what a test may put there. */
export const KINDS = {
  /** Where a program is reached. */
  address: {
    written: /^https?:\/\/[\w.:-]+(?:\/\w+)?$|^[A-Z]+_LINK$/,
    set: /^https?:\/\/[\w.:-]+(?:\/[\w/?=&%-]+)?$/,
  },
  /** How long a load lasts, or how much of it comes in a second. */
  load: { written: /^\d{3}$/, set: /^\d\d$/ },
  port: { written: /^\d{4}$/, set: /^\d{2,5}$/ },
  /** The id of a session, a tenant, or a user. */
  id: { written: /^(?:[a-z_]+_…|[A-Z_]+)$/, set: /^[\w-]{10,}$/ },
  /** A credential, or a public key. */
  key: {
    written: /^(?:[a-z]+_beta_…|[A-Z0-9]+_KEY|<SHA-256 of [\w ]+>)$/,
    set: /^[\w./:+=-]{10,}$|^\{"kty":.*\}$/,
  },
  time: { written: /^\d{4}-\d\d-\d\d[T ][\d:]{8}(?:Z|\+00)$/, set: /^[\d:.TZ +-]{20,}$/ },
  password: { written: /^[A-Z]+_PASSWORD$/, set: /^[\w-]{10,}$/ },
  /** A file that a program makes. */
  file: { written: /^[\w-]+\.(?:db|json)$/, set: /^\/[\w/.-]+$/ },
  folder: { written: /^(?:<\w+>|~\/[\w-]+|\/[\w/-]+)$/, set: /^\/[\w/.-]+$/ },
} as const

/** Every text of a document that a test replaces. */
export const REPLACEMENTS: Readonly<Record<string, Readonly<Record<string, keyof typeof KINDS>>>> =
  {
    'docs/guides/approve-an-agents-action.md': {
      'https://example.trycloudflare.com': 'address',
      '<repository>': 'folder',
      '~/bonded-packages': 'folder',
      'sess_…': 'id',
    },
    'examples/bank/README.md': { 'pk_beta_…': 'key', 'sk_beta_…': 'key' },
    'examples/phone-app/README.md': { '<SHA-256 of the signing certificate>': 'key' },
    'docs/guides/auditor.md': {
      'https://bond.example': 'address',
      'ten_…': 'id',
      'subject_ref_…': 'id',
      '2026-03-01T00:00:00Z': 'time',
      '2026-04-01T00:00:00Z': 'time',
    },
    'docs/guides/lost-phone.md': {
      'https://bond.example': 'address',
      'sk_beta_…': 'key',
      'subject_ref_…': 'id',
      'ten_…': 'id',
    },
    'docs/guides/operate/console.md': { 'https://login.example.com': 'address' },
    'docs/guides/operate/keys.md': { '100': 'load', '600': 'load', KEY_ID: 'id', 'ten_…': 'id' },
    'docs/guides/operate/tenants.md': { 'pk_beta_…': 'key', 'ten_…': 'id' },
    'docs/guides/postgresql.md': {
      NODE_PASSWORD: 'password',
      OWNER_PASSWORD: 'password',
      SECRET_KEY: 'key',
    },
    'docs/guides/operate/audit.md': { 'https://siem.example/bonded': 'address' },
    'docs/guides/operate/personal-data.md': { '2026-11-27 09:30:00+00': 'time' },
    'docs/guides/put-it-on-your-site.md': { SESSION_LINK: 'address' },
    'docs/guides/quickstart.md': { '8787': 'port', '8788': 'port' },
    'docs/guides/receipts.md': {
      'https://bond.example': 'address',
      '/etc/bonded': 'folder',
      '<repository>': 'folder',
      'sess_…': 'id',
      'sk_beta_…': 'key',
      'ten_…': 'id',
      W1_KEY: 'key',
      W2_KEY: 'key',
      W3_KEY: 'key',
    },
    'docs/guides/stop-relays.md': { 'ten_…': 'id' },
    'docs/guides/testing.md': { '8787': 'port', 'sess_…': 'id', 'sk_beta_…': 'key' },
    'docs/guides/two-people.md': { 'http://localhost:8787': 'address' },
    'docs/guides/webhooks.md': {
      'https://bond.example': 'address',
      '3000': 'port',
      'sk_beta_…': 'key',
      'ten_…': 'id',
    },
    'docs/guides/approve-with-openid.md': {
      '8787': 'port',
      '8790': 'port',
      '8791': 'port',
      '~/bonded-packages': 'folder',
      'ciba-keys.json': 'file',
      'ciba.db': 'file',
      'http://localhost:8787': 'address',
      'http://localhost:8790': 'address',
      'http://localhost:8791': 'address',
      PUBLIC_KEY: 'key',
      SUBJECT_REF: 'id',
      'sess_…': 'id',
    },
  }

/** Values by the texts that they replace. */
export type Values = Readonly<Record<string, string>>

/** A block as a reader types it, with these values in place of texts that `REPLACEMENTS` has. */
export function typed({ path, code }: Sample, values: Values = {}): string {
  let text = code
  for (const [written, value] of Object.entries(values)) {
    const kind = REPLACEMENTS[path]?.[written]
    assert.ok(kind, `REPLACEMENTS has no ${written} for ${path}`)
    assert.match(value, KINDS[kind].set, written)
    text = text.replaceAll(written, value)
  }
  return text
}
