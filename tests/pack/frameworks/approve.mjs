// The page and the phone: a session, its approval, a changed form, and the form that was approved.
import { execFile } from 'node:child_process'
import process from 'node:process'
import { promisify } from 'node:util'
import { saved } from './bank.js'
import { listen } from './start.mjs'

const [name, bonded] = process.argv.slice(2)
const port = await listen(name)
// What a proxy in front of the program adds.
const proxied = { 'x-forwarded-for': '192.0.2.7' }
async function post(path, body, cookie = 'login=anna') {
  const response = await fetch(`http://localhost:${port}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      cookie,
      ...proxied,
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

const stranger = await post('/bond-session', {}, 'other=1')
const { body: session } = await post('/bond-session', {})
const qr = session.universal_link
// Without blocking: the server is in this process, and would close a connection that the client
// has kept, and uses again.
const approve = [bonded, 'phone', 'approve', '--qr', qr, '--no-wait']
await promisify(execFile)(process.execPath, approve)
const session_id = session.id
const changed = await post('/applications', { amount: 99_999, session_id })
const accepted = await post('/applications', { amount: 12_500, session_id })
const again = await post('/applications', { amount: 12_500, session_id })
console.log(
  JSON.stringify({
    statuses: [stranger, changed, accepted, again].map(({ status }) => status),
    shown: session.context.display,
    answer: accepted.body,
    saved: name === 'next' ? await (await fetch(`http://localhost:${port}/saved`)).json() : saved,
  }),
)
process.exit(0)
