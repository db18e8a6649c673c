import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { readVector, vectorsMissing } from '../../contract/tests/vectors.ts'
import { Secret, signWebhook, verifyWebhook, type WebhookHeaders } from '../src/index.ts'

const SIGN = {
  secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  id: 'msg_1',
  timestamp: 1_614_265_330,
  payload: '{}',
}
const WRONG = 'v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc='
const RIGHT = `v1,${macOf(`${SIGN.id}.${SIGN.timestamp}.${SIGN.payload}`)}`

interface Sent {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
  readonly secret: string
  readonly now: number
}

const HONEST: Sent = {
  headers: {
    'webhook-id': SIGN.id,
    'webhook-timestamp': String(SIGN.timestamp),
    'webhook-signature': RIGHT,
  },
  body: SIGN.payload,
  secret: SIGN.secret,
  now: SIGN.timestamp * 1_000,
}
const withHeader = (
  name: string,
  value: string | readonly string[] | undefined,
): Partial<Sent> => ({ headers: { ...HONEST.headers, [name]: value } })
const at = (seconds: string) => ({
  headers: {
    ...HONEST.headers,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${macOf(`${SIGN.id}.${seconds}.${SIGN.payload}`)}`,
  },
})

/** A delivery and its verdict. The sentences of the first lines are those of the recording. */
const VERDICTS: readonly (readonly [what: string, change: Partial<Sent>, verdict: string])[] = [
  ['missing webhook-id', withHeader('webhook-id', undefined), 'header_missing'],
  ['missing webhook-timestamp', withHeader('webhook-timestamp', undefined), 'header_missing'],
  ['missing webhook-signature', withHeader('webhook-signature', undefined), 'header_missing'],
  ['timestamp not a number', at('hello'), 'timestamp_malformed'],
  ['timestamp more than 300 s old', { now: HONEST.now + 300_001 }, 'timestamp_out_of_range'],
  ['timestamp more than 300 s ahead', { now: HONEST.now - 300_001 }, 'timestamp_out_of_range'],
  [
    'signature cut to 8 characters',
    withHeader('webhook-signature', RIGHT.slice(0, 8)),
    'signature_mismatch',
  ],
  [`signature 'v1,'`, withHeader('webhook-signature', 'v1,'), 'signature_mismatch'],
  [
    'signature with only a v2 entry',
    withHeader('webhook-signature', RIGHT.replace('v1', 'v2')),
    'signature_mismatch',
  ],
  ['empty secret', { secret: '' }, 'invalid_configuration'],
  [`secret 'whsec_'`, { secret: 'whsec_' }, 'invalid_configuration'],
  [
    'secret with and without the whsec_ prefix',
    { secret: SIGN.secret.slice('whsec_'.length) },
    'accept',
  ],
  [
    'several space separated signatures of which one v1 is right',
    withHeader('webhook-signature', `${WRONG} ${WRONG.replace('v1', 'v2')} ${RIGHT} ${WRONG}`),
    'accept',
  ],
  ['as it was signed', {}, 'accept'],
  ['300 s old', { now: HONEST.now + 300_000 }, 'accept'],
  ['300 s ahead', { now: HONEST.now - 300_000 }, 'accept'],
  ['another body', { body: `${SIGN.payload} ` }, 'signature_mismatch'],
  ['another id', withHeader('webhook-id', `${SIGN.id}x`), 'signature_mismatch'],
  [
    'another second',
    withHeader('webhook-timestamp', String(SIGN.timestamp + 1)),
    'signature_mismatch',
  ],
  [
    'another secret',
    { secret: `whsec_${Buffer.alloc(24, 1).toString('base64')}` },
    'signature_mismatch',
  ],
  [
    'a right signature without its version',
    withHeader('webhook-signature', RIGHT.slice(3)),
    'signature_mismatch',
  ],
  [
    'a right signature with junk behind it',
    withHeader('webhook-signature', `${RIGHT}A`),
    'signature_mismatch',
  ],
  [
    'a right signature with bytes behind it',
    withHeader(
      'webhook-signature',
      `v1,${Buffer.concat([Buffer.from(RIGHT.slice(3), 'base64'), Buffer.of(0)]).toString('base64')}`,
    ),
    'signature_mismatch',
  ],
  ['a header sent twice', withHeader('webhook-signature', [RIGHT, RIGHT]), 'header_missing'],
  ['a timestamp with a fraction', at(`${SIGN.timestamp}.5`), 'timestamp_malformed'],
  ['a timestamp below zero', at('-1'), 'timestamp_malformed'],
  ['a secret that is no base64', { secret: 'whsec_hunter2' }, 'invalid_configuration'],
]

for (const [what, change, verdict] of VERDICTS) {
  test(`webhook: ${what}: ${verdict}`, async () => {
    assert.equal(await verdictOn({ ...HONEST, ...change }), verdict)
  })
}

test('webhook: the published example is accepted, and every published case is in the table', {
  skip: vectorsMissing,
}, async () => {
  const recorded = JSON.parse(readVector('standard-webhooks', 'vectors.json').toString())
  const { id, payload, secret, signature, timestamp } = recorded.sign
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  }
  const now = timestamp * 1_000
  assert.equal(await verdictOn({ headers, body: payload, secret, now }), 'accept')
  assert.equal(recorded.toleranceSeconds, 300)
  for (const what of recorded.mustReject) assert.notEqual(lineOf(what)[2], 'accept')
  for (const what of recorded.mustAccept) assert.equal(lineOf(what.split(':')[0])[2], 'accept')
})

test('webhook: a delivery with any single bit of its body or signature flipped is rejected', async () => {
  const body = Buffer.from(HONEST.body)
  for (let bit = 0; bit < body.length * 8; bit++) {
    const flipped = Buffer.from(body)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.equal(await verdictOn(HONEST, flipped), 'signature_mismatch', `bit ${bit} of the body`)
  }
  const mac = Buffer.from(RIGHT.slice(3), 'base64')
  for (let bit = 0; bit < mac.length * 8; bit++) {
    const flipped = Buffer.from(mac)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const sent = {
      ...HONEST,
      ...withHeader('webhook-signature', `v1,${flipped.toString('base64')}`),
    }
    assert.equal(await verdictOn(sent), 'signature_mismatch', `bit ${bit} of the signature`)
  }
})

test('webhook: accepts both secrets during a rotation, and only the new one afterwards', async () => {
  const [old, made] = [
    new Secret(SIGN.secret),
    new Secret(`whsec_${Buffer.alloc(32, 9).toString('base64')}`),
  ]
  const clock = { now: () => HONEST.now }
  const delivery = { id: 'evt_1', sentAtMs: HONEST.now, body: '{"type":"session.bonded"}' }
  for (const signer of [old, made]) {
    const headers = await signWebhook(delivery, signer)
    assert.equal(
      (await verifyWebhook({ headers, body: delivery.body, secret: [old, made], clock })).decision,
      'accept',
    )
    assert.equal(
      (await verifyWebhook({ headers, body: delivery.body, secret: [made], clock })).decision,
      signer === made ? 'accept' : 'reject',
    )
  }
  await assert.rejects(verifyWebhook({ headers: {}, body: '', secret: [] }), {
    code: 'invalid_configuration',
  })
})

test('webhook: a secret that is a text, or missing, is an error that says so', async () => {
  const delivery = { id: 'evt_1', sentAtMs: HONEST.now, body: '{}' }
  const rejection = { code: 'invalid_configuration', message: /new Secret\(text\)/ }
  for (const secret of [SIGN.secret, undefined, null, [SIGN.secret]] as never[]) {
    await assert.rejects(verifyWebhook({ headers: {}, body: '{}', secret }), rejection)
    await assert.rejects(signWebhook(delivery, secret), rejection)
  }
})

test('webhook: the README’s example accepts a Request of fetch', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const [, line = ''] = /```ts\n(const verdict = .*)\n```/.exec(readme) ?? []
  const secret = new Secret(SIGN.secret)
  const headers = await signWebhook({ id: 'evt_1', sentAtMs: Date.now(), body: '{}' }, secret)
  const request = new Request('https://shop.example/hook', { method: 'POST', headers, body: '{}' })
  const source = `export default async ({ verifyWebhook, request, secret }) => { ${line}; return verdict }`
  const program = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    default: (names: object) => Promise<object>
  }
  const verdict = await program.default({ verifyWebhook, request, secret })
  assert.deepEqual(verdict, {
    decision: 'accept',
    id: 'evt_1',
    sentAtMs: Number(headers['webhook-timestamp']) * 1_000,
  })
})

test('webhook: verifies v1a with the public key, and no signature of the other version', async () => {
  const pair = generateKeyPairSync('ed25519')
  const raw = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const secret = `whpk_${raw.toString('base64')}`
  const signed = (content: string) =>
    sign(null, Buffer.from(content), pair.privateKey).toString('base64')
  const right = signed(`${SIGN.id}.${SIGN.timestamp}.${SIGN.payload}`)
  // The public key is known to everyone, so it must never be the key of a MAC.
  const forged = createHmac('sha256', raw)
    .update(`${SIGN.id}.${SIGN.timestamp}.${SIGN.payload}`)
    .digest('base64')
  for (const [signature, verdict] of [
    [`v1a,${right}`, 'accept'],
    [`${RIGHT} v1a,${right}`, 'accept'],
    [`v1,${right}`, 'signature_mismatch'],
    [`v1,${forged}`, 'signature_mismatch'],
    [`v1a,${forged}`, 'signature_mismatch'],
    [`v1a,${signed('another content')}`, 'signature_mismatch'],
    [RIGHT, 'signature_mismatch'],
  ] as const) {
    const sent = { ...HONEST, ...withHeader('webhook-signature', signature), secret }
    assert.equal(await verdictOn(sent), verdict, signature)
  }
  assert.equal(await verdictOn({ ...HONEST, secret: 'whpk_AAAA' }), 'invalid_configuration')
  const withSecret = withHeader('webhook-signature', `v1a,${right}`)
  assert.equal(await verdictOn({ ...HONEST, ...withSecret }), 'signature_mismatch')
})

test('webhook: reads only the first signatures of a header, so that a long one costs little', async () => {
  const many = Array.from({ length: 6 }, () => WRONG).join(' ')
  const sent = withHeader('webhook-signature', `${many} ${RIGHT}`)
  assert.equal(await verdictOn({ ...HONEST, ...sent }), 'signature_mismatch')
})

const capitalized = (headers: Sent['headers']) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.replaceAll(/\b\w/g, (letter) => letter.toUpperCase()),
      value,
    ]),
  )

test('webhook: takes the header names and values that receivers have', async () => {
  const { headers } = HONEST
  const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
  const accepted = { ...headers, 'content-type': 'application/json', cookie: undefined }
  for (const given of [accepted, capitalized(headers), lists, new Headers(headers as never)])
    assert.equal(await verdictOn({ ...HONEST, headers: given as Sent['headers'] }), 'accept')
  const both = { ...headers, ...capitalized(headers) }
  assert.equal(await verdictOn({ ...HONEST, headers: both }), 'header_missing')
})

test('webhook: takes each form of unparsed bytes, and names a parsed body', async () => {
  const bytes = new TextEncoder().encode(HONEST.body)
  const forms = [Buffer.from(bytes), bytes, bytes.buffer, new DataView(bytes.buffer)]
  for (const body of forms) assert.equal(await verdictOn(HONEST, body as Uint8Array), 'accept')
  for (const body of [{}, null, undefined, [1], { type: 'session.bonded' }]) {
    const { headers, secret } = HONEST
    const delivery = { headers, secret: new Secret(secret), clock: { now: () => HONEST.now } }
    await assert.rejects(verifyWebhook({ ...delivery, body: body as unknown as string }), {
      code: 'invalid_configuration',
      message: /unparsed body/,
    })
  }
})

async function verdictOn(
  { headers, body, secret, now }: Sent,
  bytes: string | Uint8Array = body,
): Promise<string> {
  const delivery = { body: bytes, secret: new Secret(secret), clock: { now: () => now } }
  const judge = (given: WebhookHeaders) =>
    verifyWebhook({ ...delivery, headers: given }).then(
      (verdict) => (verdict.decision === 'accept' ? 'accept' : verdict.reason),
      ({ code }: { code: string }) => code,
    )
  return judge(headers)
}

function lineOf(what: string) {
  const line = VERDICTS.find(([said]) => said === what)
  assert.ok(line, `no case covers “${what}”`)
  return line
}

function macOf(signed: string): string {
  return createHmac('sha256', Buffer.from(SIGN.secret.slice('whsec_'.length), 'base64'))
    .update(signed)
    .digest('base64')
}
