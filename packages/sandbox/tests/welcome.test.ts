import assert from 'node:assert/strict'
import { test } from 'node:test'
import { welcome } from '../src/dev/welcome.ts'

const local = {
  bank: 'http://localhost:8788',
  phone: 'http://localhost:8789',
  service: 'http://localhost:8787',
}

test('names the guide for a real phone while phones cannot reach the service', () => {
  const text = welcome(local, false).join('\n')
  assert.match(text, /approve with the phone beside it/)
  assert.match(text, /cannot reach localhost: see docs\/guides\/real-phone\.md/)
})

test('says to use the phone’s camera behind a public origin', () => {
  const text = welcome({ ...local, service: 'https://tunnel.example' }, false).join('\n')
  assert.match(text, /scan the QR code with your phone’s camera/)
  assert.doesNotMatch(text, /real-phone\.md/)
})
