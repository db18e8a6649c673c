import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAnswer, sealAnswer } from '../src/sealed-answer.ts'

const RECIPIENT = { authReqId: 'request-1', jkt: 'key-1' }
const ANSWER = { body: { access_token: 'token-1', scope: 'openid' }, expiresAt: 1_900_000_000 }

test('an answer opens for its recipient, and for no other', () => {
  const sealed = sealAnswer(ANSWER, RECIPIENT)
  assert.deepEqual(openAnswer(sealed, RECIPIENT), ANSWER)
  assert.equal(openAnswer(sealed, { ...RECIPIENT, jkt: 'key-2' }), undefined)
  assert.equal(openAnswer(sealed, { ...RECIPIENT, authReqId: 'request-2' }), undefined)
})

test('an answer of which any byte was changed, or that was cut, does not open', () => {
  const sealed = Buffer.from(sealAnswer(ANSWER, RECIPIENT), 'base64url')
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed)
    changed[index] = (changed[index] ?? 0) ^ 1
    assert.equal(openAnswer(changed.toString('base64url'), RECIPIENT), undefined, `byte ${index}`)
    const cut = sealed.subarray(0, index).toString('base64url')
    assert.equal(openAnswer(cut, RECIPIENT), undefined, `${index} bytes`)
  }
})
