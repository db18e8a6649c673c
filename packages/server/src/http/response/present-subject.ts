import type { SubjectDevices } from '@bonded/contract'
import { isoOrNull } from '@bonded/core/domain/iso'
import type { TenantSubject } from '@bonded/core/operations/tenant/subject-devices'

/** Presents a user and their phones to a tenant, without an id that another tenant could know. */
export function presentSubject({ subjectRef, blockedAt, devices }: TenantSubject): SubjectDevices {
  return {
    subject_ref: subjectRef,
    blocked_at: isoOrNull(blockedAt),
    devices: devices.map(({ deviceRef, status, format, isAttested, lastBondedAt }) => ({
      device_ref: deviceRef,
      status,
      format,
      key_attested: isAttested,
      last_bonded_at: isoOrNull(lastBondedAt),
    })),
  }
}
