import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhoneError } from '@bonded/phone'
import { StorageFailure } from '../../src/device-store.ts'
import type { Moment } from '../../src/failures.ts'
import { afterPrompt, isNotRecovered, needOf, problemOf } from '../../src/problem.ts'
import { qrCode } from '../../src/view/qr.ts'
import { icon } from '../../src/view/icon.ts'
import { type SmallElement, useSmallDocument } from '../drawn/small-document.ts'

/* What a failure leads to. The page draws the problem (`page-ends.test.ts`). */

const refused = (reason: string, status = 400) => new PhoneError('refused', { reason, status })

test('has a problem for each reason of the service, and each failure of the phone', () => {
  for (const [problem, reasons] of Object.entries({
    qr_code_expired: ['challenge_expired', 'nonce_mismatch', 'session_not_found'],
    claimed_by_other_phone: ['session_claimed'],
    session_over: ['session_not_live', 'policy_not_met'],
    phone_not_accepted: ['device_not_usable', 'format_not_enabled', 'attestation_invalid'],
    app_only: ['key_format_not_accepted'],
    cannot_attest: ['key_not_attested'],
    phone_too_new: ['key_too_new'],
    phone_unknown: [
      'credential_invalid',
      'credential_missing',
      'device_not_found',
      'assertion_invalid',
    ],
    offline: ['request_timeout'],
    busy: ['rate_limited', 'overloaded', 'operation_timeout', 'store_unavailable', 'not_ready'],
    unexpected: ['a_later_reason', 'toString', ''],
  }))
    for (const reason of reasons) assert.equal(problemOf(refused(reason)), problem, reason)
  for (const [code, problem] of [
    ['handoff_unreadable', 'link_incomplete'],
    ['origin_not_usable', 'wrong_service'],
    ['unreachable', 'offline'],
    ['step_up_unsupported', 'app_required'],
    ['not_awaiting', 'session_over'],
    ['answer_unreadable', 'unexpected'],
    ['counter_exhausted', 'unexpected'],
  ] as const)
    assert.equal(problemOf(new PhoneError(code)), problem)
  assert.equal(problemOf(refused('a_later_reason', 499)), 'unexpected')
  assert.equal(problemOf(refused('a_later_reason', 500)), 'busy')
  assert.equal(problemOf(new StorageFailure('read')), 'storage_unavailable')
  assert.equal(problemOf(new Error('a defect')), 'unexpected')
})

test('leads on after each failed prompt, by what the phone was asked for', () => {
  const failed = (name: string) => new PhoneError('user_verification_failed', { reason: name })
  // What a browser calls a prompt that was closed, one that failed, and one that it cannot show.
  const names = ['NotAllowedError', 'UnknownError', 'SecurityError']
  const after = (moment: Moment, isFirst: boolean) =>
    names.map((name) => afterPrompt(failed(name), moment, isFirst)).join()
  for (const [moment, first, later] of [
    [
      'set_up',
      'not_created,not_created,open_in_browser',
      'not_created,not_created,open_in_browser',
    ],
    ['add_key', 'ask,ask,unexpected', 'unexpected,unexpected,unexpected'],
    ['approve', 'ask,ask,ask', 'passkey_missing,unexpected,unexpected'],
    ['open', 'ask,unexpected,unexpected', 'passkey_missing,unexpected,unexpected'],
    ['recover', 'ask,ask,open_in_browser', 'ask,ask,open_in_browser'],
    ['remove', 'ask,ask,unexpected', 'ask,ask,unexpected'],
  ] as const) {
    assert.equal(after(moment, true), first, `${moment}, first`)
    assert.equal(after(moment, false), later, `${moment}, later`)
  }
  assert.equal(afterPrompt(new PhoneError('authenticator_unusable'), 'remove'), 'ask')
  for (const other of [refused('x'), new PhoneError('unreachable'), new Error('NotAllowedError')])
    assert.equal(afterPrompt(other, 'approve', true), undefined)
  assert.equal(problemOf(failed('NotAllowedError'), 'set_up'), 'not_created')
  assert.equal(problemOf(failed('NotAllowedError')), 'passkey_missing')
  assert.equal(problemOf(failed('NotAllowedError'), 'remove'), 'unexpected')
  for (const [failure, isNot] of [
    [failed('NotAllowedError'), true],
    [failed('SecurityError'), false],
    [refused('assertion_invalid'), true],
    [refused('device_not_usable'), false],
  ] as const)
    assert.equal(isNotRecovered(failure), isNot)
})

test('names the proof that a browser cannot give', () => {
  const needs = ['passport_chip', 'carrier', 'sensor_continuity', 'band:high', 'toString'].map(
    (reason) => needOf(new PhoneError('step_up_unsupported', { reason })),
  )
  assert.deepEqual(needs, ['passport', 'carrier', 'motion', 'other', 'other'])
  assert.equal(needOf(refused('carrier')), null)
  assert.equal(needOf(new Error('carrier')), null)
})

test('draws a QR code dark on light, with its quiet zone, and each icon', () => {
  useSmallDocument()
  const code = qrCode('A', 'Label') as unknown as SmallElement
  const [ground, modules] = code.children
  const colors = [code, ground, modules].map((each) => each?.styles.get('fill'))
  assert.deepEqual(colors, ['#fff !important', '#fff !important', '#000 !important'])
  const others = { opacity: '1', 'fill-opacity': '1', stroke: 'none', filter: 'none' }
  for (const [name, value] of Object.entries({ ...others, 'mix-blend-mode': 'normal' }))
    for (const each of [code, ground, modules])
      assert.equal(each?.styles.get(name), `${value} !important`, name)
  // A code of 21 modules a side, with four on each side of it.
  assert.equal(code.getAttribute('viewBox'), '-4 -4 29 29')
  assert.equal(ground?.getAttribute('d'), 'M-4 -4h29v29h-29z')
  const path = modules?.getAttribute('d') ?? ''
  assert.match(path, /^(M\d+ \d+h1v1h-1z)+$/)
  // The finder pattern at the top: seven dark modules, and a light one.
  for (let x = 0; x < 8; x++) assert.equal(path.includes(`M${x} 0h`), x < 7)
  const names = [
    'phone',
    'computer',
    'check',
    'cross',
    'clock',
    'shield',
    'mark',
    'spinner',
  ] as const
  const strokes = names.map((name) =>
    (icon(name, 'calm') as unknown as SmallElement).all('path')[0]?.getAttribute('d'),
  )
  assert.equal(new Set(strokes).size, names.length)
  for (const stroke of strokes) assert.match(stroke ?? '', /^M\d/)
})
