import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CREDENTIAL, python } from './python.ts'

const ORIGIN = 'https://bond.test'
const CLIENT = `bonded.Bonded("${ORIGIN}", "${CREDENTIAL}", lambda seconds: None)`
const POLICY = 'bonded.Policy("w", "a")'

/** What an expression raises: the name of the error, its text, and the name of its cause. */
const errorsOf = (expression: string, values: readonly unknown[] = [null]) =>
  python(expression, values, { says: true }) as [string, string, string][]

/** Creates a session, while the connection does what an expression says. */
function createWhile(open: string, display = '[]') {
  const opener = `type("O", (), {"open": lambda self, *a, **k: ${open}})()`
  const create = `b.create(${POLICY}, ${display}, "d", None)`
  return errorsOf(`(lambda b: (setattr(b, "_opener", ${opener}), ${create}))(${CLIENT})`)[0]
}
const raising = (error: string) => `(_ for _ in ()).throw(${error})`
/** A rejection with this body. */
const rejecting = (status: number, body: string) =>
  raising(
    `bonded.urllib.error.HTTPError("${ORIGIN}/api/v1/sessions", ${status}, "", {}, io.BytesIO(b'${body}'))`,
  )

test('the Python client says what failed on the way to the service, where, and why', () => {
  const lost = `${ORIGIN} did not answer`
  for (const [open, text, cause] of [
    [
      raising('bonded.urllib.error.URLError(ConnectionRefusedError(111, "Connection refused"))'),
      `${lost}: [Errno 111] Connection refused`,
      'URLError',
    ],
    [
      raising('bonded.urllib.error.URLError(OSError("certificate has expired"))'),
      `${lost}: certificate has expired`,
      'URLError',
    ],
    [raising('TimeoutError("timed out")'), `${lost}: timed out`, 'TimeoutError'],
    // Half an answer: the service may have performed the call.
    [
      raising('bonded.http.client.IncompleteRead(b"ab", 9)'),
      `${lost}: IncompleteRead(2 bytes read, 9 more expected)`,
      'IncompleteRead',
    ],
    [
      'io.BytesIO(b"<html>")',
      `${ORIGIN} answered 6 bytes that are not whole JSON`,
      'JSONDecodeError',
    ],
    [
      rejecting(502, '<html>'),
      `${ORIGIN} answered 502 without an error of the service: check base_url, and the proxy before it`,
      'HTTPError',
    ],
  ] as const)
    assert.deepEqual(createWhile(open), ['BondedError', text, cause])
})

test('the text of an error of the Python client has all that its log needs', () => {
  const error = { message: 'No.', reason: 'w_unknown', requestId: 'req_1', doc_url: '/reasons#w' }
  const [name, text, cause] = createWhile(rejecting(400, JSON.stringify({ error }))) ?? []
  assert.deepEqual([name, cause], ['BondedError', 'HTTPError'])
  assert.equal(text, `No. (w_unknown, req_1, ${ORIGIN}/reasons#w)`)
})

test('the Python client says what it sent where the service rejects a value, but not the value', () => {
  const error = { message: 'No.', param: 'context.display.0.value', requestId: 'req_1' }
  const rejected = rejecting(400, JSON.stringify({ error }))
  const long = '[{"label": "Note", "value": "x" * 999}]'
  assert.equal(
    createWhile(rejected, long)?.[1],
    'No. context.display.0.value is a text of 999 characters. (context.display.0.value, req_1)',
  )
})

test('the Python client names the pair of a display with another value than a text', () => {
  for (const [value, type] of [
    ['12500', 'int'],
    ['12.5', 'float'],
    ['[1]', 'list'],
  ])
    assert.deepEqual(createWhile('None', `[{"label": "Amount", "value": ${value}}]`), [
      'TypeError',
      `display.0.value is of the type ${type}: pass a text`,
      'NoneType',
    ])
})

test('the Python client says what is wrong with a credential, and never the credential', () => {
  const cut = CREDENTIAL.slice(0, -1)
  const found = errorsOf(`bonded.Bonded("${ORIGIN}", v)`, [
    null,
    '',
    `${CREDENTIAL}\n`,
    'pk_beta_xyz',
    cut,
    `${cut}${CREDENTIAL.endsWith('0') ? '1' : '0'}`,
  ])
  assert.deepEqual(
    found.map(([name, text]) => [name, text]),
    [
      'pass server_credential: a text',
      'pass server_credential: a text',
      'server_credential begins or ends with a space or a line break: strip what you read from a file',
      'server_credential is not a server credential: it does not begin with sk_beta_',
      `server_credential is cut or mistyped: its ${cut.length} characters do not match their checksum`,
      `server_credential is cut or mistyped: its ${CREDENTIAL.length} characters do not match their checksum`,
    ].map((text) => ['ValueError', text]),
  )
})

/** Calls with a text that they require, each with the name of the text. */
const REQUIRED: readonly (readonly [call: string, name: string])[] = [
  [`bonded.Bonded(v, "${CREDENTIAL}")`, 'base_url'],
  ['bonded.Policy(v, "a")', 'workflow'],
  ['bonded.Policy("w", v)', 'action'],
  [`${CLIENT}.create(${POLICY}, [], v, None)`, 'digest'],
  [`${CLIENT}.read(v)`, 'session_id'],
  [`${CLIENT}.complete(v, "c", "d")`, 'session_id'],
  [`${CLIENT}.complete("sess_x", v, "d")`, 'completion_secret'],
  [`${CLIENT}.complete("sess_x", "c", v)`, 'digest'],
  [`${CLIENT}.complete("sess_x", "c", "d", v)`, 'outcome'],
]

test('the Python client requires each text before it makes a call', () => {
  for (const [call, name] of REQUIRED)
    assert.deepEqual(
      errorsOf(call, [null, '', 1]),
      Array.from({ length: 3 }, () => ['ValueError', `pass ${name}: a text`, 'NoneType']),
      call,
    )
})
