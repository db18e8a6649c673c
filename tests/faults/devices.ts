import { faultsIn } from './fault.ts'

/** What becomes of a phone's key and token, and of what was signed for a customer's webhook. */
export const DEVICE_FAULTS = [
  ...faultsIn('packages/service/src/operations', { under: 'packages/service/tests' }, [
    [
      'a new token needs no proof of the key',
      'rotate-device-token.ts',
      'if (!verified.ok) return verified',
      'if (!verified.ok && verified.refusal.step === undefined) return verified',
      'device-token',
    ],
    [
      'a new token is asked for by another device',
      'rotate-device-token.ts',
      `if (device.id !== id) return refuse('device_not_found')`,
      '',
      'device-token',
    ],
    [
      'a request for a token is good for ever',
      'rotate-device-token.ts',
      'if (!timely.ok) return timely',
      '',
      'device-token',
    ],
    [
      'a copied key that asks for a token is not found out',
      'rotate-device-token.ts',
      'if (yield* tables.devices.suspect(device.id, issuedAt)) {',
      'if (now < issuedAt && (yield* tables.devices.suspect(device.id, issuedAt))) {',
      'device-token',
    ],
    [
      'the old token goes on opening doors',
      'authenticate.ts',
      'if (found.offered && !(await beginToken(service, found.device.id, tokenId)))',
      'if (found.offered && found.device.id === undefined)',
      'device-token',
    ],
    [
      'the timeline is not told of what became of a phone',
      'tell-device-change.ts',
      'for (const session of holds)',
      'for (const session of holds.slice(1))',
      'device-life',
      'operator',
    ],
    [
      'what became of a phone is not kept',
      'tell-device-change.ts',
      'yield* tables.devices.record(id, change)',
      '',
      'device-life',
    ],
    [
      'a key that was added with a stolen token leaves no trace',
      'devices.ts',
      `if (caller.kind === 'phone') yield* recordDeviceChange(`,
      `if (caller.kind === 'phone' && caller.device.id === device.id) yield* recordDeviceChange(`,
      'device-life',
    ],
  ]),
  ...faultsIn('packages/service/src/domain', { under: 'packages/service/tests' }, [
    [
      'a removed phone can be unblocked',
      'device-moves.ts',
      `unblock: { from: ['suspect', 'blocked']`,
      `unblock: { from: ['suspect', 'blocked', 'removed']`,
      'device-life',
    ],
    [
      'a blocked phone becomes merely suspect',
      'device-moves.ts',
      `suspect: { from: ['active']`,
      `suspect: { from: ['active', 'blocked']`,
      'device-life',
    ],
  ]),
  ...faultsIn('packages/service/src/adapters/sql', { under: 'packages/service/tests' }, [
    [
      'the changes of a phone fill the disk',
      'device-table.ts',
      'const MAX_EVENTS = 200',
      'const MAX_EVENTS = 2_000',
      'device-life',
    ],
    [
      'phone numbers of before stay plain',
      'migrations.ts',
      `phone_number like '+%'`,
      `phone_number like '%-%'`,
      'migrations',
    ],
  ]),
  ...faultsIn('packages/integrator/src/webhook', { under: 'packages/integrator/tests' }, [
    [
      'two webhook signatures are equal where they begin alike',
      'signature.ts',
      'let difference = one.length ^ other.length',
      'let difference = 0 * one.length',
      'webhook',
    ],
    [
      'a bit of a webhook’s signature is not compared',
      'signature.ts',
      'difference |= byte ^ (other[at] ?? 0)',
      'difference |= (byte ^ (other[at] ?? 0)) & 0xfe',
      'webhook',
    ],
    [
      'an old webhook is taken',
      'verify-webhook.ts',
      'Math.abs(clock.now() - sentAtMs) > TOLERANCE_MS',
      'sentAtMs - clock.now() > TOLERANCE_MS',
      'webhook',
    ],
    [
      'a webhook of the future is taken',
      'verify-webhook.ts',
      'Math.abs(clock.now() - sentAtMs) > TOLERANCE_MS',
      'clock.now() - sentAtMs > TOLERANCE_MS',
      'webhook',
    ],
    [
      'an empty webhook secret is one',
      'signature.ts',
      'bytes === undefined || bytes.length === 0',
      'bytes === undefined',
      'webhook',
    ],
    [
      'the id of a webhook is not signed',
      'signature.ts',
      '`${id}.${timestamp}.`',
      '`${id.slice(0, 4)}.${timestamp}.`',
      'webhook',
    ],
  ]),
  ...(['device_id', 'nonce', 'session_id', 'subject_id', 'tenant_id'] as const).flatMap((member) =>
    faultsIn('packages/contract/src', { under: 'packages/service/tests' }, [
      [
        `evidence is good for any ${member}`,
        'payloads.ts',
        'canonicalJson({ context: { device_id, nonce, session_id, subject_id, tenant_id }, evidence: signed })',
        `canonicalJson({ context: { ${['device_id', 'nonce', 'session_id', 'subject_id', 'tenant_id'].filter((one) => one !== member).join(', ')} }, evidence: signed })`,
        'evidence-property',
      ],
    ]),
  ),
  ...faultsIn('packages/service/src/operations', { under: 'packages/service/tests' }, [
    [
      'evidence of a key that is gone is taken',
      'attest.ts',
      'const known = service.keys.holds(evidence.kid)',
      'const known = true',
      'evidence-property',
    ],
  ]),
]
